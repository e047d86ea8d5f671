import os
import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from config.startup import announce, environment, web_command


class Command(BaseCommand):
    help = "Starts the web server alone (PORT, TOOLSCRIPT_HOST). The database must be prepared: manage.py prepare."

    def handle(self, *args: Any, **options: Any) -> None:
        command = web_command(Path(sys.executable).parent)
        announce(settings.DATA_DIR / "gateway.json")  # with the id that the server keeps
        os.execve(command[0], command, environment())  # noqa: S606 - the server takes this process over
