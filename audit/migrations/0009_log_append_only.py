"""The log only grows; events written before it existed wait for the sealer like all others."""

from django.db import migrations

from audit.append_only import AppendOnly

QUEUE_OLD_EVENTS = (
    "INSERT INTO audit_unsealedleaf (leaf_id, tenant_id, leaf_hash, created_at) "
    "SELECT event_id, tenant_id, leaf_hash, created_at FROM audit_auditevent "
    "WHERE NOT EXISTS (SELECT 1 FROM audit_unsealedleaf WHERE leaf_id = event_id)"
)


class Migration(migrations.Migration):
    dependencies = [("audit", "0008_the_log")]

    operations = [
        AppendOnly("audit_logleaf"),
        AppendOnly("audit_lognode"),
        AppendOnly("audit_checkpoint"),
        migrations.RunSQL(QUEUE_OLD_EVENTS, migrations.RunSQL.noop),
    ]
