"""From the first row on, audit events only grow."""

from django.db import migrations

from audit.append_only import AppendOnly


class Migration(migrations.Migration):
    dependencies = [("audit", "0001_initial")]

    operations = [AppendOnly("audit_auditevent")]
