"""Abstract tables of a reviewed version and of what reviewers said about it."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from contextos.identity.models import Tenant
from contextos.review.states import LIFECYCLE, Verdict, VersionState


class ReviewedVersion(models.Model):
    """One version of a reviewed document.

    The document itself lies in audit's content-addressed store under `digest`; a database trigger
    (contextos.review.immutability) keeps everything but the lifecycle columns from changing once
    the version left the draft state.
    """

    version_id = models.CharField(primary_key=True, max_length=40)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    state = models.CharField(max_length=20, choices=VersionState, default=VersionState.DRAFT)
    digest = models.CharField(max_length=71, help_text="sha256 of the canonical document.")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    editors = models.JSONField(
        default=list, help_text="user_id of everybody who wrote on the draft; none may approve."
    )
    reviewers_needed = models.PositiveSmallIntegerField(default=1)
    created_at = models.DateTimeField(auto_now_add=True)
    submitted_at = models.DateTimeField(null=True, blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    published_at = models.DateTimeField(null=True, blank=True)
    published_by = models.CharField(max_length=150, blank=True)
    publication_notes = models.TextField(blank=True, default="")
    ended_at = models.DateTimeField(null=True, blank=True)
    envelope = models.JSONField(
        null=True, blank=True, help_text="The DSSE envelope made at publication."
    )

    class Meta:
        abstract = True
        constraints = [
            models.CheckConstraint(
                name="%(app_label)s_%(class)s_state_known",
                condition=models.Q(state__in=LIFECYCLE.check_constraint_values()),
            ),
            models.CheckConstraint(
                name="%(app_label)s_%(class)s_signed_when_published",
                condition=~models.Q(state__in=[VersionState.PUBLISHED, VersionState.DEPRECATED])
                | models.Q(envelope__isnull=False),
            ),
        ]

    @property
    def is_editable(self) -> bool:
        """Only a draft can be written on."""
        return self.state == VersionState.DRAFT


class ReviewEntry(models.Model):
    """One thing said in a review; concrete classes add `version`, related_name="reviews"."""

    append_only = True  # the table's migration puts up the triggers (audit.append_only)

    reviewer = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    verdict = models.CharField(max_length=16, choices=Verdict)
    reason = models.TextField(blank=True)
    accepted_warnings = models.JSONField(default=list, blank=True)
    digest = models.CharField(max_length=71, help_text="What the reviewer had in front of them.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        abstract = True
        ordering = ["created_at", "id"]
        constraints = [
            models.CheckConstraint(
                name="%(app_label)s_%(class)s_verdict_known",
                condition=models.Q(verdict__in=Verdict.values),
            ),
            # One person, one decision; comments are free.
            models.UniqueConstraint(
                fields=["version", "reviewer"],
                condition=~models.Q(verdict=Verdict.COMMENT),
                name="%(app_label)s_%(class)s_one_decision_each",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_verdict_display()} by {self.reviewer}"
