"""Every write to the index of skills gives it another version, so that processes know when to load it again."""

from django.db import migrations

TABLES = ["mcp_skills", "skills_skillprototype"]

FUNCTION = """
    CREATE FUNCTION skills_index_changed() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO skills_skillindexversion (id, version) VALUES (1, gen_random_uuid())
        ON CONFLICT (id) DO UPDATE SET version = excluded.version;
        RETURN NULL;
    END $$
"""


class Migration(migrations.Migration):
    dependencies = [("skills", "0001_initial")]
    operations = [
        migrations.RunSQL(FUNCTION, "DROP FUNCTION skills_index_changed"),
        *(
            migrations.RunSQL(
                f"CREATE TRIGGER {table}_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON {table} "
                "FOR EACH STATEMENT EXECUTE FUNCTION skills_index_changed()",
                f"DROP TRIGGER {table}_changed ON {table}",
            )
            for table in TABLES
        ),
        *(
            migrations.RunSQL(
                f"ALTER TABLE {table} SET (toast_tuple_target = 8160)",
                f"ALTER TABLE {table} RESET (toast_tuple_target)",
            )
            for table in TABLES
        ),
    ]
