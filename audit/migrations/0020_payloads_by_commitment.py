"""Only arguments are looked up by their commitment; the other four values of a call need no entry."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("audit", "0019_texts_packed_by_lz4"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="payload",
            index=models.Index(
                fields=["tenant_id", "commitment"],
                condition=models.Q(kind="args"),
                name="payload_args_by_commitment",
            ),
        ),
        migrations.RemoveIndex(model_name="payload", name="payload_by_commitment"),
    ]
