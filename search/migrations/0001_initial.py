"""Every write to servers or tools changes the version of the catalogue, so that processes know when to read it again."""

import uuid

from django.db import migrations, models

TABLES = ["tools_catalog_server", "tools_catalog_tool"]

FUNCTION = """
    CREATE FUNCTION search_catalog_changed() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO search_catalogversion (slot, version) VALUES (pg_backend_pid() % 64, gen_random_uuid())
        ON CONFLICT (slot) DO UPDATE SET version = excluded.version;
        RETURN NULL;
    END $$
"""


class Migration(migrations.Migration):
    initial = True
    dependencies = [("tools_catalog", "0002_vector_storage")]
    operations = [
        migrations.CreateModel(
            name="CatalogVersion",
            fields=[
                ("slot", models.PositiveSmallIntegerField(primary_key=True, serialize=False)),
                ("version", models.UUIDField(default=uuid.uuid4)),
            ],
        ),
        migrations.RunSQL(FUNCTION, "DROP FUNCTION search_catalog_changed"),
        *(
            migrations.RunSQL(
                f"CREATE TRIGGER {table}_catalog_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON {table} "
                "FOR EACH STATEMENT EXECUTE FUNCTION search_catalog_changed()",
                f"DROP TRIGGER {table}_catalog_changed ON {table}",
            )
            for table in TABLES
        ),
    ]
