from django.db import migrations

# What was in the catalogue before there was a review counts as accepted: nobody was asked.
SERVERS = "UPDATE tools_catalog_server SET accepted_at = now() WHERE accepted_at IS NULL"
DEFINITIONS = """
    INSERT INTO tools_catalog_tooldefinition
        (tool_id, content_hash, description, uri, input_schema, output_schema, annotations,
         review, seen_at, published_at, decided_by)
    SELECT id, content_hash, description, uri, input_schema, output_schema, annotations,
           'accepted', updated_at, updated_at, ''
    FROM tools_catalog_tool
"""


class Migration(migrations.Migration):
    dependencies = [("tools_catalog", "0011_review_and_calls")]
    operations = [
        migrations.RunSQL(SERVERS, migrations.RunSQL.noop),
        migrations.RunSQL(DEFINITIONS, migrations.RunSQL.noop),
    ]
