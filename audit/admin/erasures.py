"""Erasures: what was asked for, what still waits, and the two steps that lead to one."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.safestring import SafeString

from audit.admin.keeping import SelectionForm, frame, told_of
from audit.erasure import MAX_REASON, carry_out, foresee, refusal_of, request_erasure
from audit.models import Erasure, ErasureState
from audit.selections import read_selection
from contextos.adminkit.actions import display
from contextos.adminkit.base import ReadOnlyAdmin, TenantScopedAdmin
from contextos.adminkit.display import badge, when
from contextos.adminkit.tenancy import acting_tenant_id
from contextos.core.errors import ContextOSError
from contextos.core.text import reveal_invisible, single_line
from contextos.identity.actors import actor_of

STEM = "audit_erasure"


class ReasonForm(forms.Form):
    """Why, and the tick that it is meant."""

    reason = forms.CharField(
        label="Reason",
        max_length=MAX_REASON,
        help_text="On whose request and why. It is kept for good, so leave the value itself out.",
        widget=forms.Textarea(attrs={"rows": 2}),
        error_messages={"required": "Say on whose request and why; auditors will read it."},
    )
    sure = forms.BooleanField(
        label="Nobody can bring these values back",
        error_messages={"required": "Tick it if you mean it."},
    )


@admin.register(Erasure)
class ErasureAdmin(ReadOnlyAdmin, TenantScopedAdmin):
    """Each was asked for by a person; each step is an event."""

    list_display = ["covers", "state_label", "reached", "who", "asked", "why"]
    list_filter = ["state"]
    search_fields = ["=erasure_id"]
    ordering = ["-erasure_id"]
    nav_title = "Erasures"
    nav_icon = "ink_eraser"
    nav_order = 50
    empty_title = "Nothing has been erased"
    empty_text = (
        "When somebody may ask for their data to be erased, erase the values of their decisions "
        "here. Records and proofs stay valid; arguments, answers and transcripts are gone."
    )
    empty_action = ("Erase values", f"admin:{STEM}_add")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Platform admins."""
        return self.allows(request, "add")

    # --- the list -----------------------------------------------------------------------------
    @display(description="Covers")
    def covers(self, row: Erasure) -> str:
        """Which decisions."""
        return single_line(read_selection(row.tenant_id, row.selection).in_words(), limit=160)

    @display(description="State")
    def state_label(self, row: Erasure) -> SafeString:
        """Done, or what it waits for."""
        return state_of(row)

    @display(description="Erased")
    def reached(self, row: Erasure) -> str:
        """How much so far."""
        return f"{row.payloads} values of {row.decisions} decisions"

    @display(description="Asked for by")
    def who(self, row: Erasure) -> str:
        """The person's name as it was then."""
        return reveal_invisible(row.asked_by_name or row.asked_by)

    @display(description="When", ordering="erasure_id")
    def asked(self, row: Erasure) -> SafeString:
        """When it was asked for."""
        return when(row.created_at)

    @display(description="Reason")
    def why(self, row: Erasure) -> str:
        """As given."""
        return single_line(row.reason, limit=120)

    # --- asking for one -----------------------------------------------------------------------
    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """First what is meant; then what that would do, a reason, and the button."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        tenant_id = acting_tenant_id(request)
        posted = request.POST if request.method == "POST" else None
        asked = {"reference": request.GET.get("decision", "")}
        form = SelectionForm(posted, tenant_id=tenant_id, initial=asked)
        if not form.is_bound and asked["reference"]:
            form = SelectionForm(asked, tenant_id=tenant_id)
        if not form.is_valid() or not _means_something(form):
            status = 422 if posted is not None else 200
            return self._page(request, "audit/erasure_new.html", status=status, form=form)
        return self._confirm(request, form)

    def _confirm(self, request: HttpRequest, form: SelectionForm) -> HttpResponse:
        """The second look: what would go and what would become of it."""
        selection = form.selection()
        erases = request.POST.get("step") == "erase"
        reason = ReasonForm(request.POST if erases else None)
        if reason.is_bound and reason.is_valid():
            try:
                done = request_erasure(
                    selection=selection,
                    reason=reason.cleaned_data["reason"],
                    actor=actor_of(request),
                )
            except ContextOSError as refusal:
                reason.add_error(None, f"{refusal.message} {refusal.remediation}")
            else:
                return self._told(request, done)
        context: dict[str, Any] = {
            "form": form,
            "reason_form": reason,
            "covers": selection.in_words(),
            "seen": foresee(selection),
        }
        status = 422 if erases else 200
        return self._page(request, "audit/erasure_confirm.html", status=status, **context)

    def _told(self, request: HttpRequest, done: Erasure) -> HttpResponse:
        refused = refusal_of(done)
        if refused is None:
            messages.success(request, f"Erased: {done.payloads} values.")
        else:
            messages.warning(request, f"{refused.message} {refused.remediation}")
        return HttpResponseRedirect(reverse(f"admin:{STEM}_change", args=[done.pk]))

    # --- one erasure --------------------------------------------------------------------------
    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """What it covers, how far it came, its events; and a button to try again."""
        row = self.get_object(request, object_id)
        if not isinstance(row, Erasure):
            raise Http404
        if not self.has_view_permission(request, row):
            raise PermissionDenied
        may_try = self.has_add_permission(request) and row.state == ErasureState.WAITING
        if request.method == "POST":
            if not may_try:
                raise PermissionDenied
            return self._told(request, carry_out(erasure_id=row.pk, actor=actor_of(request)))
        return self._page(
            request,
            "audit/erasure.html",
            title=f"Erasure of {row.created_at:%d %B %Y}",
            original=row,
            row=row,
            state=state_of(row),
            covers=read_selection(row.tenant_id, row.selection).in_words(),
            may_try=may_try,
            waits=refusal_of(row) if row.state == ErasureState.WAITING else None,
            events=told_of(row.tenant_id, "erasure", row.pk),
        )

    def _page(
        self,
        request: HttpRequest,
        template: str,
        *,
        title: str = "Erase values",
        status: int = 200,
        **more: Any,
    ) -> HttpResponse:
        above = (reverse(f"admin:{STEM}_changelist"), "Erasures")
        context = {**frame(request, title, above=above), "opts": self.opts, **more}
        return TemplateResponse(request, template, context, status=status)


def state_of(row: Erasure) -> SafeString:
    """Done, or what it waits for."""
    if row.state == ErasureState.DONE:
        return badge("erased", "success")
    return badge("kept by a legal hold" if row.held else "a call is under way", "warning")


def _means_something(form: SelectionForm) -> bool:
    if form.selection().is_open:
        form.add_error(None, "Fill in at least one line; a whole tenant is not erased at once.")
        return False
    if not foresee(form.selection()).decisions:
        form.add_error(None, "No decision is covered by this. Check the ids and the dates.")
        return False
    return True
