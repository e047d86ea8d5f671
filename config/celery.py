import os
from typing import Any

from celery import Celery
from celery.signals import setup_logging
from kombu.transport import TRANSPORT_ALIASES

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

TRANSPORT_ALIASES["folder"] = "config.broker:Transport"

app = Celery("toolscript")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@setup_logging.connect
def keep_our_logs(**_: Any) -> None:
    """Being connected is enough: Celery then leaves the logging that Django configured alone."""
