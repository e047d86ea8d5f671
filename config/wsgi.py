import os
import threading

from django.core.wsgi import get_wsgi_application

from core import scope

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = get_wsgi_application()
scope.restrict_by_default()


def _warm_up() -> None:
    """The first request should not wait for the model; one that comes earlier simply loads it itself."""
    from search.services import warm_up

    warm_up()
    import mcp_endpoint.bridge  # noqa: F401 - the SDK takes a second and more to load, so it comes last


threading.Thread(target=_warm_up, name="warm-up", daemon=True).start()
