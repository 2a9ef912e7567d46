"""Admin pages of approver groups: who is in them, and which gates they keep."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from guardian.models import GroupObjectPermission

from approvals.gates import read_terms
from approvals.models import ApproverGroup, Gate, GateVersion
from approvals.selectors import ACTIVE_PEOPLE, VOTE, holds_voting_role
from approvals.services import groups
from contextos.adminkit.actions import display
from contextos.adminkit.base import TenantScopedAdmin
from contextos.adminkit.navigation import MenuLine
from contextos.core.errors import ContextOSError
from contextos.identity.actors import actor_of
from contextos.identity.models import User
from contextos.review.signed_documents import document_of
from contextos.review.states import VersionState

STEM = "approvals_approvergroup"
MOST_PEOPLE = 500
_SHOWN = (
    VersionState.PUBLISHED,
    VersionState.APPROVED,
    VersionState.IN_REVIEW,
    VersionState.DRAFT,
)


@admin.register(ApproverGroup)
class ApproverGroupAdmin(TenantScopedAdmin):
    """People who keep a stage of a gate together."""

    list_display = ["title", "name", "people", "kept"]
    fields = ["title", "name"]
    search_fields = ["name", "title"]
    actions = None
    nav_title = "Approver groups"
    nav_icon = "groups"
    nav_order = 40
    nav_more = (MenuLine("Reports", "monitoring", "admin:approvals_reports", order=60),)
    empty_title = "No approver groups yet"
    empty_text = (
        "Gates name groups, not people: make a group such as finance, put people into it, and let "
        "a gate name it. Whoever is in it also needs the role finance approver to vote."
    )
    empty_action = ("Make your first group", f"admin:{STEM}_add")

    # --- the list -----------------------------------------------------------------------------
    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """With how many active people each has."""
        rows: QuerySet[Any] = super().get_queryset(request)
        found: QuerySet[Any] = rows.annotate(people_count=ACTIVE_PEOPLE)
        return found

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """The gates of all groups of the page are read in two statements."""
        shown = super().get_changelist_instance(request)
        shown.result_list = list(shown.result_list)
        kept = gates_kept([row.group_id for row in shown.result_list])
        for row in shown.result_list:
            row.kept_gates = kept.get(row.group_id, [])
        return shown

    @display(description="People", ordering="people_count")
    def people(self, group: Any) -> int:
        """Active ones."""
        return int(group.people_count)

    @display(description="Keeps")
    def kept(self, group: Any) -> str:
        """The gates in force at which it may vote."""
        return ", ".join(group.kept_gates) or "none"

    def perform_create(self, request: HttpRequest, form: ModelForm[Any]) -> ApproverGroup:
        """A new, empty group."""
        return groups.create_group(
            tenant_id=form.instance.tenant.pk,
            name=form.cleaned_data["name"],
            title=form.cleaned_data["title"],
            actor=actor_of(request),
        )

    # --- the page of one group ----------------------------------------------------------------
    def get_urls(self) -> list[URLPattern]:
        """The two buttons before Django's own pages."""
        guarded = self.admin_site.admin_view
        return [
            path("<path:object_id>/join/", guarded(self.join_view), name=f"{STEM}_join"),
            path("<path:object_id>/leave/", guarded(self.leave_view), name=f"{STEM}_leave"),
            *super().get_urls(),
        ]

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Who is in it, which gates it keeps."""
        group = self._group(request, object_id)
        may_change = self.allows(request, "change", group)
        context = {
            **self._frame(request, str(group)),
            "original": group,
            "group": group,
            "people": people_of(group),
            "gates": gates_naming(group),
            "may_change": may_change,
            "candidates": candidates_for(group, request.user.pk) if may_change else (),
            "join_url": reverse(f"admin:{STEM}_join", args=[group.pk]),
            "leave_url": reverse(f"admin:{STEM}_leave", args=[group.pk]),
        }
        return TemplateResponse(request, "approvals/group.html", context)

    def join_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Put a person in."""
        return self._move(request, object_id, groups.add_person, "{} is in the group now.")

    def leave_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Take a person out."""
        return self._move(request, object_id, groups.remove_person, "{} is not in it any more.")

    def _move(self, request: HttpRequest, object_id: str, service: Any, done: str) -> HttpResponse:
        group = self._group(request, object_id)
        if not self.allows(request, "change", group):
            raise PermissionDenied
        if request.method != "POST":
            raise Http404
        user = _members(group.tenant_id).filter(user_id=request.POST.get("person", "")).first()
        if user is None:
            messages.error(request, "Choose a person of this tenant.")
        else:
            try:
                service(group=group, user=user, actor=actor_of(request))
            except ContextOSError as refusal:
                messages.error(request, f"{refusal.message} {refusal.remediation}")
            else:
                messages.success(request, done.format(user))
        return HttpResponseRedirect(reverse(f"admin:{STEM}_change", args=[group.pk]))

    def _group(self, request: HttpRequest, object_id: str) -> ApproverGroup:
        group = self.get_object(request, object_id)
        if not isinstance(group, ApproverGroup):
            raise Http404
        if not self.has_view_permission(request, group):
            raise PermissionDenied
        return group

    def _frame(self, request: HttpRequest, title: str) -> dict[str, Any]:
        top = (reverse(f"admin:{STEM}_changelist"), "Approver groups")
        return {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": title,
            "trail": [top, ("", title)],
        }


# --- reading -------------------------------------------------------------------------------------
def gates_kept(group_ids: list[int]) -> dict[int, list[str]]:
    """The gates at which the groups hold the permission to vote."""
    held = GroupObjectPermission.objects.filter(
        group_id__in=group_ids,
        permission__codename=VOTE,
        permission__content_type__app_label="approvals",
    ).values_list("group_id", "object_pk")
    pairs = [(group_id, int(gate_pk)) for group_id, gate_pk in held]
    names = dict(Gate.objects.filter(pk__in={pk for _, pk in pairs}).values_list("pk", "gate_id"))
    found: dict[int, list[str]] = {}
    for group_id, pk in pairs:
        if pk in names:
            found.setdefault(group_id, []).append(names[pk])
    return {group_id: sorted(listed) for group_id, listed in found.items()}


def people_of(group: ApproverGroup) -> list[dict[str, Any]]:
    """Everybody in it, and what keeps them from voting."""
    voters = group.group.user_set.annotate(is_approver=holds_voting_role(group.tenant_id))
    users = voters.order_by("username")
    return [{"user": user, "why_not": _why_not(user)} for user in users]


def _why_not(user: Any) -> str:
    if not user.is_active:
        return "is switched off"
    return "" if user.is_approver else "needs the role finance approver to vote"


def candidates_for(group: ApproverGroup, me: Any) -> list[User]:
    """Approvers of the tenant who are not in it; nobody puts themselves in."""
    rows = _members(group.tenant_id).filter(holds_voting_role(group.tenant_id), is_active=True)
    inside = group.group.user_set.values("pk")
    return list(rows.exclude(pk__in=inside).exclude(pk=me).order_by("username")[:MOST_PEOPLE])


def _members(tenant_id: str) -> QuerySet[User]:
    return User.objects.filter(memberships__tenant_id=tenant_id).distinct()


def gates_naming(group: ApproverGroup) -> list[dict[str, Any]]:
    """The versions of gates that name it, what is in force first."""
    rows = GateVersion.objects.filter(tenant_id=group.tenant_id, state__in=_SHOWN)
    found = [line for version in rows.order_by("gate_id") for line in _lines(version, group.name)]
    return sorted(found, key=lambda line: not line["in_force"])


def _lines(version: GateVersion, name: str) -> list[dict[str, Any]]:
    try:
        terms = read_terms(document_of(version))
    except (ContextOSError, KeyError, TypeError, ValueError):  # a draft may hold anything
        return []
    stages = [
        f"{stage.name}, {stage.quorum} to agree" for stage in terms.stages if name in stage.groups
    ]
    steps = ["by escalation" for step in terms.escalations if name in step.groups][:1]
    line = {
        "gate": version.gate_id,
        "version": version,
        "url": reverse("admin:approvals_gateversion_change", args=[version.pk]),
        "where": "; ".join([*stages, *steps]),
        "in_force": version.state == VersionState.PUBLISHED,
    }
    return [line] if stages or steps else []
