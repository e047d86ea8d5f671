"""Which folder the paths of files are seen from: what is gone from one root says nothing about another."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0002_facets_and_storage")]
    operations = [migrations.AddField("source", "root", models.TextField(blank=True, editable=False))]
