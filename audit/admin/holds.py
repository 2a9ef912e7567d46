"""Legal holds: placing one, and the two halves of a release."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString

from audit.admin.keeping import SelectionForm, frame, told_of
from audit.holds import (
    MAX_WORDS,
    confirm_release,
    place_hold,
    propose_release,
    selection_of,
    withdraw_proposal,
)
from audit.models import DecisionRow, LegalHold
from contextos.adminkit.actions import display
from contextos.adminkit.base import ReadOnlyAdmin, TenantScopedAdmin
from contextos.adminkit.display import badge, when
from contextos.adminkit.navigation import MenuLine
from contextos.adminkit.tenancy import acting_tenant_id
from contextos.core.errors import ContextOSError
from contextos.core.text import reveal_invisible, single_line
from contextos.identity.actors import actor_of

STEM = "audit_legalhold"
MOST_COUNTED = 1000


class HoldForm(SelectionForm):
    """The matter, and which decisions it covers; nothing filled in means all of the tenant."""

    title = forms.CharField(label="Matter", max_length=200, help_text="As counsel calls it.")
    reason = forms.CharField(
        label="Why these records must stay",
        max_length=MAX_WORDS,
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    field_order = ["title", "reason"]


class WordsForm(forms.Form):
    """Why."""

    reason = forms.CharField(
        label="Reason",
        max_length=MAX_WORDS,
        help_text="Kept in the log; whoever confirms reads it.",
        widget=forms.Textarea(attrs={"rows": 2}),
        error_messages={"required": "Say why; the second person and auditors will read it."},
    )


@admin.register(LegalHold)
class LegalHoldAdmin(ReadOnlyAdmin, TenantScopedAdmin):
    """No end date, no way to narrow one, and two people to let go of it."""

    list_display = ["title_label", "state_label", "covers", "placed", "by"]
    search_fields = ["=hold_id", "title"]
    ordering = ["-hold_id"]
    nav_title = "Legal holds"
    nav_icon = "gavel"
    nav_order = 60
    nav_more = [MenuLine("Retention", "auto_delete", "admin:audit_retention", order=70)]
    empty_title = "Nothing is under legal hold"
    empty_text = (
        "A hold keeps records and values from being purged or erased, by anybody, until two "
        "people release it. Place one as soon as counsel asks for it."
    )
    empty_action = ("Place a hold", f"admin:{STEM}_add")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Platform admins."""
        return self.allows(request, "add")

    # --- the list -----------------------------------------------------------------------------
    @display(description="Matter", ordering="title")
    def title_label(self, row: LegalHold) -> str:
        """As counsel calls it."""
        return single_line(row.title, limit=120)

    @display(description="State")
    def state_label(self, row: LegalHold) -> SafeString:
        """In force, to be released, released."""
        return state_of(row)

    @display(description="Covers")
    def covers(self, row: LegalHold) -> str:
        """Which decisions."""
        return single_line(selection_of(row).in_words(), limit=160)

    @display(description="Placed", ordering="hold_id")
    def placed(self, row: LegalHold) -> SafeString:
        """Since when it holds."""
        return when(row.placed_at)

    @display(description="By")
    def by(self, row: LegalHold) -> str:
        """The person's name as it was then."""
        return reveal_invisible(row.placed_by_name or row.placed_by)

    # --- placing ------------------------------------------------------------------------------
    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The matter and what it covers."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        posted = request.POST if request.method == "POST" else None
        asked = {"reference": request.GET.get("decision", "")}
        form = HoldForm(posted, tenant_id=acting_tenant_id(request), initial=asked)
        if form.is_bound and form.is_valid():
            try:
                hold = place_hold(
                    selection=form.selection(),
                    title=form.cleaned_data["title"],
                    reason=form.cleaned_data["reason"],
                    actor=actor_of(request),
                )
            except ContextOSError as refusal:
                form.add_error(None, f"{refusal.message} {refusal.remediation}")
            else:
                messages.success(request, "The hold stands from this moment on.")
                return HttpResponseRedirect(reverse(f"admin:{STEM}_change", args=[hold.pk]))
        status = 422 if form.is_bound else 200
        return self._page(request, "audit/hold_new.html", status=status, form=form)

    # --- one hold -----------------------------------------------------------------------------
    def get_urls(self) -> list[URLPattern]:
        """The steps of a release before Django's own pages."""
        guarded = self.admin_site.admin_view
        steps = ("propose", "confirm", "withdraw")
        own = [
            path(
                f"<path:object_id>/{step}/",
                guarded(getattr(self, f"{step}_view")),
                name=f"{STEM}_{step}",
            )
            for step in steps
        ]
        return [*own, *super().get_urls()]

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """What it covers, who placed it, how far its release has come."""
        hold = self._hold(request, object_id)
        covered = DecisionRow.objects.filter(selection_of(hold).condition(), seq=1)
        return self._page(
            request,
            "audit/hold.html",
            title=single_line(hold.title, limit=120),
            original=hold,
            hold=hold,
            state=state_of(hold),
            covers=selection_of(hold).in_words(),
            covered=len(covered.values_list("pk", flat=True)[: MOST_COUNTED + 1]),
            most=MOST_COUNTED,
            may_release=self._may_release(request, hold),
            is_proposer=actor_of(request).id == hold.proposed_by,
            events=told_of(hold.tenant_id, "legal_hold", hold.pk),
        )

    def propose_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The first half of a release."""
        hold = self._releasable(request, object_id)

        def perform(reason: str) -> object:
            return propose_release(
                tenant_id=hold.tenant_id, hold_id=hold.pk, reason=reason, actor=actor_of(request)
            )

        return self._step(
            request, hold, "Propose its release", perform, "Another person has to confirm it now."
        )

    def withdraw_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The release is not wanted after all."""
        hold = self._releasable(request, object_id)

        def perform(reason: str) -> object:
            return withdraw_proposal(
                tenant_id=hold.tenant_id, hold_id=hold.pk, reason=reason, actor=actor_of(request)
            )

        return self._step(request, hold, "Keep the hold", perform, "The hold stays.")

    def confirm_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The second half, by another person."""
        hold = self._releasable(request, object_id)
        if request.method != "POST":
            raise Http404
        try:
            confirm_release(tenant_id=hold.tenant_id, hold_id=hold.pk, actor=actor_of(request))
        except ContextOSError as refusal:
            messages.error(request, f"{refusal.message} {refusal.remediation}")
        else:
            told = "Released. What waited for it is erased within the hour, and purged tonight."
            messages.success(request, told)
        return HttpResponseRedirect(reverse(f"admin:{STEM}_change", args=[hold.pk]))

    def _step(
        self,
        request: HttpRequest,
        hold: LegalHold,
        words: str,
        perform: Callable[[str], object],
        told: str,
    ) -> HttpResponse:
        form = WordsForm(request.POST if request.method == "POST" else None)
        address = reverse(f"admin:{STEM}_change", args=[hold.pk])
        if form.is_bound and form.is_valid():
            try:
                perform(form.cleaned_data["reason"])
            except ContextOSError as refusal:
                form.add_error(None, f"{refusal.message} {refusal.remediation}")
            else:
                messages.success(request, told)
                return HttpResponseRedirect(address)
        return self._page(
            request,
            "audit/hold_step.html",
            title=words,
            status=422 if form.is_bound else 200,
            form=form,
            hold=hold,
            covers=selection_of(hold).in_words(),
            back=address,
        )

    def _hold(self, request: HttpRequest, object_id: str) -> LegalHold:
        hold = self.get_object(request, object_id)
        if not isinstance(hold, LegalHold):
            raise Http404
        if not self.has_view_permission(request, hold):
            raise PermissionDenied
        return hold

    def _releasable(self, request: HttpRequest, object_id: str) -> LegalHold:
        hold = self._hold(request, object_id)
        if not self._may_release(request, hold):
            raise PermissionDenied
        return hold

    def _may_release(self, request: HttpRequest, hold: LegalHold) -> bool:
        return hold.released_at is None and self.allows(request, "release", hold)

    def _page(
        self,
        request: HttpRequest,
        template: str,
        *,
        title: str = "Place a legal hold",
        status: int = 200,
        **more: Any,
    ) -> HttpResponse:
        above = (reverse(f"admin:{STEM}_changelist"), "Legal holds")
        context = {**frame(request, title, above=above), "opts": self.opts, **more}
        return TemplateResponse(request, template, context, status=status)


def state_of(hold: LegalHold) -> SafeString:
    """In force, to be released, released."""
    if hold.released_at is not None:
        return badge("released", "neutral")
    if hold.proposed_at is not None:
        return badge("release proposed", "warning")
    return badge("in force", "danger")
