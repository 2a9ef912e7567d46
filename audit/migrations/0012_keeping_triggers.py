"""One door out of the append-only tables, guarded by the floor of retention and by legal holds."""

from django.db import migrations

from audit import append_only
from audit.append_only import AppendOnly
from audit.keeping_triggers import KeepWhatMustBeKept
from audit.partitions import DOOR, standing_partitions


def open_the_door_of_months(apps, schema_editor):
    for name in standing_partitions(schema_editor.connection):
        append_only.install(schema_editor.connection, name, door=DOOR)


class Migration(migrations.Migration):
    dependencies = [("audit", "0011_keeping_and_letting_go")]

    operations = [
        AppendOnly("audit_retentionrule"),
        AppendOnly("audit_gateddecision"),
        AppendOnly("audit_purge"),
        AppendOnly("audit_purgedleaf"),
        AppendOnly("audit_decisionrow", "record_id"),
        AppendOnly("audit_decisionbody", "record_id"),
        AppendOnly("audit_decisionmention", "record_id"),
        AppendOnly("audit_auditevent", "event_id"),
        migrations.RunPython(open_the_door_of_months, migrations.RunPython.noop),
        KeepWhatMustBeKept(),
    ]
