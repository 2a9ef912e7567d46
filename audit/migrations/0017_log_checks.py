"""Checks of the log that people ask for on its page."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('audit', '0016_older_rows'),
    ]

    operations = [
        migrations.CreateModel(
            name='LogCheck',
            fields=[
                ('check_id', models.CharField(max_length=40, primary_key=True, serialize=False)),
                ('tenant_id', models.CharField(max_length=64)),
                ('first', models.BigIntegerField(default=0, help_text='First index that is read in full.')),
                ('last', models.BigIntegerField(help_text='The index behind the last; null: the end.', null=True)),
                ('state', models.CharField(choices=[('queued', 'Waiting for a worker'), ('running', 'Being read'), ('done', 'Read to the end'), ('failed', 'Broke off')], default='queued', max_length=8)),
                ('requested_by', models.CharField(max_length=150)),
                ('requested_by_name', models.CharField(max_length=150)),
                ('created_at', models.DateTimeField()),
                ('started_at', models.DateTimeField(null=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('lease_until', models.DateTimeField(null=True)),
                ('attempts', models.PositiveSmallIntegerField(default=0)),
                ('done', models.BigIntegerField(default=0, help_text='Leaves read so far.')),
                ('total', models.BigIntegerField(default=0, help_text='Leaves to be read.')),
                ('tree_size', models.BigIntegerField(default=0)),
                ('checkpoints', models.BigIntegerField(default=0)),
                ('outside', models.BigIntegerField(default=0)),
                ('purged', models.BigIntegerField(default=0)),
                ('findings', models.JSONField(default=list, help_text='The first of them, in words.')),
                ('found', models.PositiveIntegerField(default=0, help_text='How many there were.')),
                ('first_bad_index', models.BigIntegerField(null=True)),
                ('fault', models.CharField(blank=True, max_length=300)),
            ],
            options={
                'ordering': ['-check_id'],
                'default_permissions': ('add', 'view'),
                'indexes': [models.Index(fields=['tenant_id', '-check_id'], name='log_check_by_tenant')],
                'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['queued', 'running', 'done', 'failed'])), name='log_check_state_known'), models.UniqueConstraint(condition=models.Q(('state__in', ('queued', 'running'))), fields=('tenant_id',), name='one_open_log_check')],
            },
        ),
    ]
