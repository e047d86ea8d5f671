"""What Django cannot say: the extension's vectors stay in their rows up to the size of a page."""

from django.db import migrations

TABLES = ["mcp_unified_search", "tools_catalog_toolembedding"]


class Migration(migrations.Migration):
    dependencies = [("tools_catalog", "0001_initial")]
    operations = [
        migrations.RunSQL(
            [f"ALTER TABLE {table} SET (toast_tuple_target = 8160)" for table in TABLES],
            [f"ALTER TABLE {table} RESET (toast_tuple_target)" for table in TABLES],
        ),
    ]
