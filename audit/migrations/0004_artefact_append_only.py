"""From the first row on, stored documents only grow."""

from django.db import migrations

from audit.append_only import AppendOnly


class Migration(migrations.Migration):
    dependencies = [("audit", "0003_artefact")]

    operations = [AppendOnly("audit_artefact")]
