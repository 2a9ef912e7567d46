"""Notes of a publication; reviews, signatures and the contents of a version stay as they are."""

from django.db import migrations, models

from audit.append_only import AppendOnly
from contextos.review.frozen_contents import FrozenWithVersion
from contextos.review.immutability import FrozenOnceSubmitted

VERSIONS = "registry_adapterversion"


class Migration(migrations.Migration):
    dependencies = [("registry", "0002_frozen_versions")]

    operations = [
        migrations.AlterModelOptions(
            name="adapterversion",
            options={
                "ordering": ["-created_at", "-version_id"],
                "permissions": [
                    ("submit_adapterversion", "Can submit an adapter version for review"),
                    ("review_adapterversion", "Can review an adapter version that others wrote"),
                    ("publish_adapterversion", "Can publish an approved adapter version"),
                    ("retire_adapterversion", "Can retire an adapter version"),
                ],
            },
        ),
        migrations.AlterModelOptions(
            name="killswitch",
            options={
                "ordering": ["-thrown_at", "switch_id"],
                "permissions": [("lift_killswitch", "Can lift a kill switch")],
                "verbose_name_plural": "kill switches",
            },
        ),
        migrations.AddField(
            model_name="adapterversion",
            name="publication_notes",
            field=models.TextField(blank=True, default=""),
        ),
        migrations.AlterField(
            model_name="adapterversion",
            name="risk",
            field=models.CharField(
                blank=True,
                help_text=(
                    "Verdict of the risk diff at submission: widens, narrows, neutral or unchanged."
                ),
                max_length=12,
            ),
        ),
        FrozenOnceSubmitted(VERSIONS),
        AppendOnly("registry_review"),
        AppendOnly("registry_signature"),
        AppendOnly("registry_schemadocument"),
        FrozenWithVersion("registry_capability", VERSIONS, ("is_active",)),
        FrozenWithVersion("registry_finding", VERSIONS),
        FrozenWithVersion("registry_prompt", VERSIONS),
        FrozenWithVersion("registry_resource", VERSIONS),
        FrozenWithVersion("registry_schemause", VERSIONS),
        FrozenWithVersion("registry_scope", VERSIONS),
    ]
