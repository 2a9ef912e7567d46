"""Decision rows only grow; their bodies lie in monthly partitions on PostgreSQL."""

from django.db import migrations

from audit import append_only
from audit.append_only import AppendOnly
from audit.partitions import TABLE, ensure_partitions, make_partitioned


def partition(apps, schema_editor):
    make_partitioned(schema_editor.connection)


def prepare_months(apps, schema_editor):
    ensure_partitions(connection=schema_editor.connection)
    if schema_editor.connection.vendor == "postgresql":
        append_only.install(schema_editor.connection, f"{TABLE}_default")


class Migration(migrations.Migration):
    dependencies = [("audit", "0005_decision_records")]

    operations = [
        migrations.RunPython(partition, migrations.RunPython.noop),
        AppendOnly("audit_decisionrow"),
        AppendOnly("audit_decisionbody"),
        migrations.RunPython(prepare_months, migrations.RunPython.noop),
    ]
