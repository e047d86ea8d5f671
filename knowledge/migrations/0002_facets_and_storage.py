"""What Django cannot say: one object to filter by, always true, and vectors that stay in their rows."""

from django.db import migrations

FUNCTION = """
    CREATE FUNCTION knowledge_source_facets() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        NEW.facets := NEW.metadata || jsonb_build_object(
            'doc_id', NEW.id::text, 'title', NEW.title, 'path', NEW.path, 'type', NEW.type, 'format', NEW.format,
            'authors', to_jsonb(NEW.authors), 'tags', to_jsonb(NEW.topics), 'topics', to_jsonb(NEW.topics),
            'ingested_at', to_char(NEW.ingested_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
            'updated_at', to_char(NEW.updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
        );
        RETURN NEW;
    END $$
"""


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0001_initial")]
    operations = [
        migrations.RunSQL(FUNCTION, "DROP FUNCTION knowledge_source_facets"),
        migrations.RunSQL(
            "CREATE TRIGGER knowledge_source_facets BEFORE INSERT OR UPDATE ON knowledge_source "
            "FOR EACH ROW EXECUTE FUNCTION knowledge_source_facets()",
            "DROP TRIGGER knowledge_source_facets ON knowledge_source",
        ),
        migrations.RunSQL(
            "ALTER TABLE knowledge_knowledgevector SET (toast_tuple_target = 8160)",
            "ALTER TABLE knowledge_knowledgevector RESET (toast_tuple_target)",
        ),
    ]
