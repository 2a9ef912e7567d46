"""Rows from before 0010 and 0011 say what they mention and whether they were gated."""

from django.db import migrations

from audit.older_rows import complete_older_rows


def complete(apps, schema_editor):
    complete_older_rows(apps.get_model)


class Migration(migrations.Migration):
    # Each batch is a transaction of its own: records can be written meanwhile, and a migration
    # that was broken off goes through what it did once more without doing it twice.
    atomic = False

    dependencies = [
        ('audit', '0015_report_definitions'),
    ]

    operations = [
        migrations.RunPython(complete, migrations.RunPython.noop),
    ]
