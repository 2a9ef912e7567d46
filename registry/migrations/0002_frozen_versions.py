"""A submitted adapter version keeps its document and authors for good."""

from django.db import migrations

from contextos.review.immutability import FrozenOnceSubmitted


class Migration(migrations.Migration):
    dependencies = [("registry", "0001_initial")]

    operations = [
        FrozenOnceSubmitted("registry_adapterversion")
    ]
