"""Records can be searched: one covering index, and who and what each row mentions."""

from django.db import migrations, models

from audit.append_only import AppendOnly
from audit.search_index import cover, drop_pattern_indexes, uncover


def cover_index(apps, schema_editor):
    cover(schema_editor.connection)


def drop_patterns(apps, schema_editor):
    drop_pattern_indexes(schema_editor.connection)


def uncover_index(apps, schema_editor):
    uncover(schema_editor.connection)


class Migration(migrations.Migration):
    dependencies = [
        ('audit', '0009_log_append_only'),
    ]

    operations = [
        migrations.CreateModel(
            name='DecisionAmount',
            fields=[
                ('decision_id', models.CharField(max_length=40, primary_key=True, serialize=False)),
                ('tenant_id', models.CharField(max_length=64)),
                ('amount', models.DecimalField(decimal_places=2, max_digits=20)),
                ('unit', models.CharField(blank=True, max_length=16)),
                ('created_at', models.DateTimeField()),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='DecisionMention',
            fields=[
                ('pk', models.CompositePrimaryKey('tenant_id', 'kind', 'value', 'record_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('tenant_id', models.CharField(max_length=64)),
                ('kind', models.CharField(max_length=8)),
                ('value', models.CharField(max_length=200)),
                ('record_id', models.CharField(max_length=40)),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.RemoveIndex(
            model_name='decisionrow',
            name='decision_by_tenant',
        ),
        migrations.RemoveIndex(
            model_name='decisionrow',
            name='decision_by_status',
        ),
        migrations.RemoveIndex(
            model_name='decisionrow',
            name='decision_by_capability',
        ),
        migrations.AddIndex(
            model_name='decisionrow',
            index=models.Index(fields=['tenant_id', 'record_id'], name='decision_by_tenant'),
        ),
        migrations.AddIndex(
            model_name='decisionrow',
            index=models.Index(fields=['tenant_id', 'capability_id', 'record_id'], name='decision_by_capability'),
        ),
        migrations.AddIndex(
            model_name='decisionrow',
            index=models.Index(fields=['trace_id'], name='decision_by_trace'),
        ),
        migrations.AddIndex(
            model_name='decisionrow',
            index=models.Index(condition=models.Q(('user_id', ''), _negated=True), fields=['tenant_id', 'user_id', 'record_id'], name='decision_by_user'),
        ),
        migrations.AddIndex(
            model_name='decisionrow',
            index=models.Index(condition=models.Q(('error_code', ''), _negated=True), fields=['tenant_id', 'error_code', 'record_id'], name='decision_by_error'),
        ),
        migrations.AddIndex(
            model_name='decisionrow',
            index=models.Index(condition=models.Q(('status__in', ['PROPOSED', 'APPROVED', 'EXECUTED']), _negated=True), fields=['tenant_id', 'status', 'record_id'], name='decision_by_rare_status'),
        ),
        migrations.AddIndex(
            model_name='decisionamount',
            index=models.Index(fields=['tenant_id', 'amount'], name='decision_by_amount'),
        ),
        migrations.RunPython(cover_index, uncover_index),
        migrations.RunPython(drop_patterns, migrations.RunPython.noop),
        AppendOnly("audit_decisionmention"),
        # What older rows mention is added by 0016, in steps that lock nothing.
    ]
