"""Who uses the command line: the holder of TOOLSCRIPT_API_KEY, else whoever has the data folder."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tenants.types import Caller


def identify() -> "Caller":
    """To be asked once Django is set up. The key's tenant then limits what this process sees of the database."""
    from django.conf import settings

    from core import scope
    from tenants.services.keys import key_caller
    from tenants.types import OPERATOR

    if not settings.API_KEY:
        return OPERATOR
    caller = key_caller(settings.API_KEY)
    scope.enter(caller.scope)
    return caller


def local_key() -> str:
    """What to show a service: the given key, else the one that `up` left in the data folder."""
    from django.conf import settings

    path = settings.DATA_DIR / settings.LOCAL_KEY_FILE
    if settings.API_KEY:
        return str(settings.API_KEY)
    try:
        return str(path.read_text().strip())
    except OSError:
        return ""
