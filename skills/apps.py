from typing import Any

from django.apps import AppConfig


class SkillsConfig(AppConfig):
    name = "skills"

    def ready(self) -> None:
        from tools_catalog.signals import tools_published

        tools_published.connect(retry_failures, dispatch_uid="skills.retry_failures")


def retry_failures(sender: object, *, server_id: int, **_: Any) -> None:
    """A re-sync is the moment at which tools that could not be classified are tried again."""
    from skills.services.switch import classification_retry_server

    classification_retry_server(server_id)
