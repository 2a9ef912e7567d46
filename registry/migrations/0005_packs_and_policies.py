"""Context Packs, policy bundles and quarantines; what was submitted or said stays as it is."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from audit.append_only import AppendOnly
from contextos.review.immutability import FrozenOnceSubmitted


class Migration(migrations.Migration):
    dependencies = [
        ("identity", "0001_initial"),
        ("registry", "0004_icon"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="ContextPackVersion",
            fields=[
                ("version_id", models.CharField(max_length=40, primary_key=True, serialize=False)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("draft", "Draft"),
                            ("in_review", "In review"),
                            ("changes_requested", "Changes requested"),
                            ("rejected", "Rejected"),
                            ("approved", "Approved"),
                            ("published", "Published"),
                            ("deprecated", "Deprecated"),
                            ("retired", "Retired"),
                        ],
                        default="draft",
                        max_length=20,
                    ),
                ),
                (
                    "digest",
                    models.CharField(help_text="sha256 of the canonical document.", max_length=71),
                ),
                (
                    "editors",
                    models.JSONField(
                        default=list,
                        help_text="user_id of everybody who wrote on the draft; none may approve.",
                    ),
                ),
                ("reviewers_needed", models.PositiveSmallIntegerField(default=1)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("submitted_at", models.DateTimeField(blank=True, null=True)),
                ("decided_at", models.DateTimeField(blank=True, null=True)),
                ("published_at", models.DateTimeField(blank=True, null=True)),
                ("published_by", models.CharField(blank=True, max_length=150)),
                ("publication_notes", models.TextField(blank=True, default="")),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                (
                    "envelope",
                    models.JSONField(
                        blank=True, help_text="The DSSE envelope made at publication.", null=True
                    ),
                ),
                (
                    "version",
                    models.CharField(
                        help_text="Semantic version, never used twice.", max_length=64
                    ),
                ),
                ("owner_role", models.CharField(blank=True, max_length=200)),
                (
                    "findings",
                    models.JSONField(
                        default=list, help_text="What blocks it, and what a reviewer has to accept."
                    ),
                ),
                ("block_count", models.PositiveIntegerField(default=0)),
                ("warn_count", models.PositiveIntegerField(default=0)),
                ("pack_id", models.CharField(max_length=200)),
                (
                    "intents",
                    models.JSONField(
                        default=list, help_text="What runs may be opened for with it."
                    ),
                ),
                ("permission_count", models.PositiveIntegerField(default=0)),
                (
                    "author",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="identity.tenant",
                    ),
                ),
            ],
            options={
                "verbose_name": "Context Pack",
                "ordering": ["-created_at", "-version_id"],
                "permissions": [
                    ("submit_contextpackversion", "Can submit a Context Pack for review"),
                    ("review_contextpackversion", "Can review a Context Pack that others wrote"),
                    ("publish_contextpackversion", "Can publish an approved Context Pack"),
                    ("retire_contextpackversion", "Can retire a Context Pack"),
                ],
                "abstract": False,
                "indexes": [
                    models.Index(fields=["tenant", "state"], name="pack_version_by_state"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "state__in",
                                (
                                    "approved",
                                    "changes_requested",
                                    "deprecated",
                                    "draft",
                                    "in_review",
                                    "published",
                                    "rejected",
                                    "retired",
                                ),
                            )
                        ),
                        name="registry_contextpackversion_state_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state__in", ["published", "deprecated"]), _negated=True),
                            ("envelope__isnull", False),
                            _connector="OR",
                        ),
                        name="registry_contextpackversion_signed_when_published",
                    ),
                    models.UniqueConstraint(
                        fields=("tenant", "pack_id", "version"), name="pack_version_number_once"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("state", "published")),
                        fields=("tenant", "pack_id"),
                        name="one_active_version_per_pack",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="PackReview",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "verdict",
                    models.CharField(
                        choices=[
                            ("approve", "Approved"),
                            ("reject", "Rejected"),
                            ("request_changes", "Asked for changes"),
                            ("comment", "Commented"),
                        ],
                        max_length=16,
                    ),
                ),
                ("reason", models.TextField(blank=True)),
                ("accepted_warnings", models.JSONField(blank=True, default=list)),
                (
                    "digest",
                    models.CharField(
                        help_text="What the reviewer had in front of them.", max_length=71
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "reviewer",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="reviews",
                        to="registry.contextpackversion",
                    ),
                ),
            ],
            options={
                "ordering": ["created_at", "id"],
                "abstract": False,
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("verdict__in", ["approve", "reject", "request_changes", "comment"])
                        ),
                        name="registry_packreview_verdict_known",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("verdict", "comment"), _negated=True),
                        fields=("version", "reviewer"),
                        name="registry_packreview_one_decision_each",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="PolicyBundleVersion",
            fields=[
                ("version_id", models.CharField(max_length=40, primary_key=True, serialize=False)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("draft", "Draft"),
                            ("in_review", "In review"),
                            ("changes_requested", "Changes requested"),
                            ("rejected", "Rejected"),
                            ("approved", "Approved"),
                            ("published", "Published"),
                            ("deprecated", "Deprecated"),
                            ("retired", "Retired"),
                        ],
                        default="draft",
                        max_length=20,
                    ),
                ),
                (
                    "digest",
                    models.CharField(help_text="sha256 of the canonical document.", max_length=71),
                ),
                (
                    "editors",
                    models.JSONField(
                        default=list,
                        help_text="user_id of everybody who wrote on the draft; none may approve.",
                    ),
                ),
                ("reviewers_needed", models.PositiveSmallIntegerField(default=1)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("submitted_at", models.DateTimeField(blank=True, null=True)),
                ("decided_at", models.DateTimeField(blank=True, null=True)),
                ("published_at", models.DateTimeField(blank=True, null=True)),
                ("published_by", models.CharField(blank=True, max_length=150)),
                ("publication_notes", models.TextField(blank=True, default="")),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                (
                    "envelope",
                    models.JSONField(
                        blank=True, help_text="The DSSE envelope made at publication.", null=True
                    ),
                ),
                (
                    "version",
                    models.CharField(
                        help_text="Semantic version, never used twice.", max_length=64
                    ),
                ),
                ("owner_role", models.CharField(blank=True, max_length=200)),
                (
                    "findings",
                    models.JSONField(
                        default=list, help_text="What blocks it, and what a reviewer has to accept."
                    ),
                ),
                ("block_count", models.PositiveIntegerField(default=0)),
                ("warn_count", models.PositiveIntegerField(default=0)),
                ("bundle_id", models.CharField(max_length=200)),
                ("priority", models.IntegerField(default=0)),
                ("rule_count", models.PositiveIntegerField(default=0)),
                ("test_count", models.PositiveIntegerField(default=0)),
                (
                    "shadow",
                    models.BooleanField(
                        default=False,
                        help_text="Asked and recorded beside the others, without any effect.",
                    ),
                ),
                (
                    "author",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="identity.tenant",
                    ),
                ),
            ],
            options={
                "verbose_name": "policy bundle",
                "ordering": ["-created_at", "-version_id"],
                "permissions": [
                    ("submit_policybundleversion", "Can submit a policy bundle for review"),
                    ("review_policybundleversion", "Can review a policy bundle that others wrote"),
                    ("publish_policybundleversion", "Can publish an approved policy bundle"),
                    ("retire_policybundleversion", "Can retire a policy bundle"),
                ],
                "abstract": False,
                "indexes": [
                    models.Index(fields=["tenant", "state"], name="bundle_version_by_state"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "state__in",
                                (
                                    "approved",
                                    "changes_requested",
                                    "deprecated",
                                    "draft",
                                    "in_review",
                                    "published",
                                    "rejected",
                                    "retired",
                                ),
                            )
                        ),
                        name="registry_policybundleversion_state_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state__in", ["published", "deprecated"]), _negated=True),
                            ("envelope__isnull", False),
                            _connector="OR",
                        ),
                        name="registry_policybundleversion_signed_when_published",
                    ),
                    models.UniqueConstraint(
                        fields=("tenant", "bundle_id", "version"), name="bundle_version_number_once"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("state", "published")),
                        fields=("tenant", "bundle_id", "shadow"),
                        name="one_active_version_per_bundle",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="PolicyReview",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "verdict",
                    models.CharField(
                        choices=[
                            ("approve", "Approved"),
                            ("reject", "Rejected"),
                            ("request_changes", "Asked for changes"),
                            ("comment", "Commented"),
                        ],
                        max_length=16,
                    ),
                ),
                ("reason", models.TextField(blank=True)),
                ("accepted_warnings", models.JSONField(blank=True, default=list)),
                (
                    "digest",
                    models.CharField(
                        help_text="What the reviewer had in front of them.", max_length=71
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "reviewer",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="reviews",
                        to="registry.policybundleversion",
                    ),
                ),
            ],
            options={
                "ordering": ["created_at", "id"],
                "abstract": False,
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("verdict__in", ["approve", "reject", "request_changes", "comment"])
                        ),
                        name="registry_policyreview_verdict_known",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("verdict", "comment"), _negated=True),
                        fields=("version", "reviewer"),
                        name="registry_policyreview_one_decision_each",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Quarantine",
            fields=[
                (
                    "quarantine_id",
                    models.CharField(max_length=40, primary_key=True, serialize=False),
                ),
                ("capability_id", models.CharField(max_length=200)),
                ("reason", models.TextField()),
                ("opened_by", models.CharField(max_length=150)),
                ("opened_at", models.DateTimeField()),
                ("released_by", models.CharField(blank=True, max_length=150)),
                ("released_at", models.DateTimeField(blank=True, null=True)),
                ("release_reason", models.TextField(blank=True)),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="identity.tenant",
                    ),
                ),
                (
                    "version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="registry.adapterversion",
                    ),
                ),
            ],
            options={
                "ordering": ["-opened_at", "quarantine_id"],
                "permissions": [("release_quarantine", "Can release a capability from quarantine")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("released_at__isnull", True)),
                        fields=("version", "capability_id"),
                        name="one_open_quarantine_per_capability",
                    ),
                ],
            },
        ),
        FrozenOnceSubmitted("registry_contextpackversion"),
        FrozenOnceSubmitted("registry_policybundleversion"),
        AppendOnly("registry_packreview"),
        AppendOnly("registry_policyreview"),
    ]
