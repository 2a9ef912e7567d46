"""Texts that come from now on are packed by LZ4, where PostgreSQL has it."""

from django.db import migrations

from audit.partitions import pack_texts


def pack(apps, schema_editor):
    pack_texts(schema_editor.connection, "lz4")


def pack_as_before(apps, schema_editor):
    pack_texts(schema_editor.connection, "pglz")


class Migration(migrations.Migration):
    dependencies = [
        ('audit', '0018_standing_reports_as_files'),
    ]

    operations = [
        migrations.RunPython(pack, pack_as_before),
    ]
