from django.apps import AppConfig


class ToolsCatalogConfig(AppConfig):
    name = "tools_catalog"
    verbose_name = "Catalogue"
