"""An export may be a standing report."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('audit', '0017_log_checks'),
    ]

    operations = [
        migrations.AddField(
            model_name='exportjob',
            name='standing',
            field=models.CharField(blank=True, help_text='Key of a standing report; empty: records.', max_length=40),
        ),
    ]
