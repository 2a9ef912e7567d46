"""Amounts of requests made before searches could look for them."""

from django.db import migrations

BATCH = 500


def copy_amounts(apps, schema_editor):
    requests = apps.get_model("approvals", "ApprovalRequest").objects
    amounts = apps.get_model("audit", "DecisionAmount")
    rows = requests.filter(amount__isnull=False, subject_kind="tool_call").values_list(
        "tenant_id", "amount", "unit", "view", "created_at"
    )
    amounts.objects.bulk_create(
        [
            amounts(
                decision_id=view["decision_id"],
                tenant_id=tenant_id,
                amount=amount,
                unit=unit,
                created_at=created_at,
            )
            for tenant_id, amount, unit, view, created_at in rows.iterator(chunk_size=BATCH)
            if isinstance(view, dict) and view.get("decision_id")
        ],
        batch_size=BATCH,
        ignore_conflicts=True,
    )


class Migration(migrations.Migration):
    dependencies = [("approvals", "0003_saved_view"), ("audit", "0010_record_search")]

    operations = [migrations.RunPython(copy_amounts, migrations.RunPython.noop)]
