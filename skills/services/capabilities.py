"""Relations between skills: whose tools can also do whose work."""

from django.core.exceptions import ValidationError

from core.errors import ValidationFailed
from skills.models import Capability


def capability_save(capability: Capability) -> Capability:
    """Searches see it within a second."""
    try:
        capability.full_clean()
    except ValidationError as exc:
        raise ValidationFailed(f"The capability {capability} is not valid.", {"fields": exc.message_dict}) from exc
    capability.save()
    return capability


def capability_delete(capability: Capability) -> None:
    capability.delete()
