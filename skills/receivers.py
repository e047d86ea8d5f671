"""What the catalogue's signals mean for skills."""

from typing import Any

from skills.services.switch import classification_retry_server


def retry_failures(sender: object, *, server_id: int, **_: Any) -> None:
    """A re-sync is the moment at which tools that could not be classified are tried again."""
    classification_retry_server(server_id)
