from django.apps import AppConfig


class SkillsConfig(AppConfig):
    name = "skills"

    def ready(self) -> None:
        from skills.receivers import retry_failures
        from tools_catalog.signals import tools_published

        tools_published.connect(retry_failures, dispatch_uid="skills.retry_failures")
