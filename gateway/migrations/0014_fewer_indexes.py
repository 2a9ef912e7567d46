"""Drops the indexes that every call paid for and no query uses (issue 4).

Foreign keys whose column begins another index, and the `LIKE` indexes that Django adds on
PostgreSQL for text keys: ids are looked up whole.
"""

import django.db.models.deletion
from django.db import migrations, models

_LOOKED_UP_WHOLE = (
    ("toolcall", "tool_call_id"),
    ("toolcall", "decision_id"),
    ("evidence", "evidence_ref"),
)


def drop_like_indexes(apps, schema_editor):
    if schema_editor.connection.vendor != "postgresql":
        return
    for model, column in _LOOKED_UP_WHOLE:
        table = apps.get_model("gateway", model)._meta.db_table
        name = schema_editor._create_index_name(table, [column], suffix="_like")
        schema_editor.execute(f"DROP INDEX IF EXISTS {schema_editor.quote_name(name)}")


def make_like_indexes(apps, schema_editor):
    if schema_editor.connection.vendor != "postgresql":
        return
    for model, column in _LOOKED_UP_WHOLE:
        found = apps.get_model("gateway", model)
        statement = schema_editor._create_like_index_sql(found, found._meta.get_field(column))
        schema_editor.execute(statement)


def _key(to, related_name):
    return models.ForeignKey(
        db_index=False,
        on_delete=django.db.models.deletion.PROTECT,
        related_name=related_name,
        to=to,
    )


class Migration(migrations.Migration):
    dependencies = [("gateway", "0013_evidence_names")]

    operations = [
        migrations.AlterField("toolcall", "tenant", _key("identity.tenant", "+")),
        migrations.AlterField("toolcall", "run", _key("gateway.run", "calls")),
        migrations.AlterField("evidence", "tenant", _key("identity.tenant", "+")),
        migrations.RunPython(drop_like_indexes, make_like_indexes),
    ]
