from django.apps import AppConfig
from django.db.backends.signals import connection_created
from django.db.models.signals import post_migrate, pre_migrate


class TenantsConfig(AppConfig):
    name = "tenants"

    def ready(self) -> None:
        from tenants import openapi, rls  # noqa: F401 - the description of how callers say who they are

        connection_created.connect(rls.on_connect, dispatch_uid="toolscript-scope")
        pre_migrate.connect(rls.views_drop, sender=self, dispatch_uid="toolscript-views")
        post_migrate.connect(rls.policies_apply, sender=self, dispatch_uid="toolscript-policies")
