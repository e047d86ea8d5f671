"""Who uses the command line: the holder of TOOLSCRIPT_API_KEY, else whoever has the data folder."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tenants.types import Caller


def identify() -> "Caller":
    """To be asked once Django is set up. The key's tenant then limits what this process sees of the database."""
    from core import scope
    from tenants.types import OPERATOR

    caller = _caller()
    if caller != OPERATOR:
        scope.enter(caller.scope)
    return caller


def operator_only(what: str) -> None:
    """For work on the whole catalogue, whoever's it is."""
    from core.errors import Forbidden

    caller = _caller()
    if caller.tenant_id is not None or not caller.is_admin:
        raise Forbidden(f"{what} is for whoever runs the service: it is about all tenants, and this key is not.")


def _caller() -> "Caller":
    from django.conf import settings

    from tenants.services.keys import key_caller
    from tenants.types import OPERATOR

    return key_caller(settings.API_KEY) if settings.API_KEY else OPERATOR
