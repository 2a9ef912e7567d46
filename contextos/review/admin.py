"""Admin pages that every reviewed document shares: review, submit, publish, roll back, retire."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString

from contextos.adminkit.actions import display
from contextos.adminkit.base import ReadOnlyAdmin, TenantScopedAdmin
from contextos.adminkit.display import when
from contextos.core.canonical import canonicalise
from contextos.core.errors import ContextOSError
from contextos.identity.actors import actor_of
from contextos.identity.models import User
from contextos.review.forms import (
    CommentForm,
    DecisionForm,
    NothingForm,
    PublishForm,
    ReasonForm,
)
from contextos.review.kinds import ReviewKind
from contextos.review.labels import state_badge
from contextos.review.lifecycle import ReviewedLifecycle
from contextos.review.standing import Standing, approvals_of, standing_of
from contextos.review.states import LIFECYCLE, Verdict, VersionState

VERDICT_WORDS = {
    Verdict.APPROVE.value: ("Approve", "Your approval is recorded."),
    Verdict.REQUEST_CHANGES.value: ("Ask for changes", "The author has been asked for changes."),
    Verdict.REJECT.value: ("Reject", "The version is rejected."),
}


@dataclass(frozen=True, slots=True)
class Step:
    """One button of the lifecycle: what it is called, what it means, who may press it."""

    verb: str  # also the permission: "publish" asks for publish_<model>
    title: str
    button: str
    done: str
    consequences: Sequence[str]
    form_class: type[forms.Form] = NothingForm
    danger: bool = False


class ReviewedVersionAdmin(ReadOnlyAdmin, TenantScopedAdmin):
    """Pages of one kind of reviewed version; concrete classes say what the document shows."""

    kind: ReviewKind[Any]
    lifecycle: ReviewedLifecycle[Any]
    review_template = "review/review.html"
    confirm_template = "review/confirm.html"
    decide_template = "review/confirm_decision.html"

    # --- what concrete classes add ----------------------------------------------------------
    def review_context(self, request: HttpRequest, version: Any) -> dict[str, Any]:
        """What reviewers look at: the comparison with what is published."""
        return {}

    def consequences(self, verb: str, version: Any) -> list[str]:
        """What pressing a button sets in motion, in sentences."""
        return []

    # --- columns of the list ----------------------------------------------------------------
    @display(description="State", ordering="state")
    def shown_state(self, version: Any) -> SafeString:
        """Where it stands."""
        return state_badge(version.state)

    @display(description="Approvals")
    def progress(self, version: Any) -> str:
        """How many said yes; wants them counted as `approvals`."""
        if version.submitted_at is None:
            return "not submitted"
        return f"{version.approvals} of {version.reviewers_needed}"

    @display(description="Since", ordering="created_at")
    def since(self, version: Any) -> SafeString:
        """The last step of its life."""
        steps = (version.created_at, version.submitted_at, version.decided_at)
        later = (version.published_at, version.ended_at)
        return when(max(moment for moment in (*steps, *later) if moment))

    # --- addresses --------------------------------------------------------------------------
    @property
    def stem(self) -> str:
        """What the names of its addresses begin with."""
        return f"{self.opts.app_label}_{self.opts.model_name}"

    def get_urls(self) -> list[URLPattern]:
        """The pages of a version before Django's own."""
        guarded, stem = self.admin_site.admin_view, self.stem
        own = [
            path(f"<path:object_id>/{name}/", guarded(getattr(self, view)), name=f"{stem}_{name}")
            for name, view in (
                ("review", "review_view"),
                ("comment", "comment_view"),
                ("submit", "submit_view"),
                ("publish", "publish_view"),
                ("retire", "retire_view"),
            )
        ]
        return own + super().get_urls()

    def address(self, version: Any, page: str = "change") -> str:
        """The address of one of a version's pages."""
        return reverse(f"admin:{self.stem}_{page}", args=[version.pk])

    def list_place(self) -> tuple[str, str]:
        """Address and words of the list, where every way to a version begins."""
        plural = str(self.opts.verbose_name_plural)
        return reverse(f"admin:{self.stem}_changelist"), plural[:1].upper() + plural[1:]

    def version_or_404(self, request: HttpRequest, object_id: str) -> Any:
        """The version, if it is of this tenant and the person may look at it."""
        version = self.get_object(request, object_id)
        if version is None:
            raise Http404
        if not self.has_view_permission(request, version):
            raise PermissionDenied
        return version

    def refused(self, request: HttpRequest, version: Any, refusal: ContextOSError) -> HttpResponse:
        """Back to the version's own page, which can be read whatever is wrong with its document."""
        messages.error(request, f"{refusal.message} {refusal.remediation}")
        return HttpResponseRedirect(self.address(version))

    def document_file(
        self, request: HttpRequest, version: Any, read: Callable[[Any], dict[str, Any]], name: str
    ) -> HttpResponse:
        """The document exactly as it is hashed and signed, to be kept as a file."""
        try:
            content = canonicalise(read(version))
        except ContextOSError as refusal:
            return self.refused(request, version, refusal)
        answer = HttpResponse(content, content_type="application/json")
        answer["Content-Disposition"] = f'attachment; filename="{name}.json"'
        answer["X-Content-Type-Options"] = "nosniff"
        return answer

    # --- the review page --------------------------------------------------------------------
    def review_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Read what changed; decide in two steps, so that one slip decides nothing."""
        version = self.version_or_404(request, object_id)
        standing = self.standing(request, version)
        if request.method != "POST":
            return self._review_page(request, version, standing, self._decision_form(version))
        if not self.allows(request, "review", version):
            raise PermissionDenied
        form = self._decision_form(version, request.POST)
        if not form.is_valid():
            return self._review_page(request, version, standing, form)
        if form.cleaned_data["digest"] != version.digest:
            form.add_error(None, "The document is not the one that was shown to you. Read on anew.")
            return self._review_page(request, version, standing, form)
        if "confirmed" not in request.POST:
            return self._ask_again(request, version, form)
        return self._decide(request, version, form)

    def standing(self, request: HttpRequest, version: Any) -> Standing:
        """Where the review stands for the person who looks at it."""
        return standing_of(self.kind, version, cast(User, request.user))

    def _decision_form(self, version: Any, data: Any = None) -> DecisionForm:
        ticks = [tick.id for tick in self.kind.warnings(version)]
        return DecisionForm(data, ticks=ticks, initial={"digest": version.digest})

    def _review_page(
        self, request: HttpRequest, version: Any, standing: Standing, form: DecisionForm
    ) -> HttpResponse:
        context = {
            **self.page_frame(request, version, f"Review of {version}", short="Review"),
            "standing": standing,
            "form": form,
            "ticked": set(form.data.getlist("tick")) if form.is_bound else set(),  # type: ignore[attr-defined]
            "may_review": self.allows(request, "review", version),
            "entries": self.thread(version),
            "may_comment": self.may_comment(request, version),
            "comment_form": CommentForm(),
            **self.review_context(request, version),
        }
        status = 422 if form.is_bound and form.errors else 200
        return TemplateResponse(request, self.review_template, context, status=status)

    def _ask_again(self, request: HttpRequest, version: Any, form: DecisionForm) -> HttpResponse:
        values = form.cleaned_data
        button, _ = VERDICT_WORDS.get(values["verdict"], ("Send", ""))
        context = {
            **self.page_frame(request, version, f"{button}: {version}", short=button),
            "values": values,
            "button": button,
            "danger": values["verdict"] == Verdict.REJECT,
            "consequences": self._verdict_consequences(version, values["verdict"]),
            "back": self.address(version, "review"),
        }
        return TemplateResponse(request, self.decide_template, context)

    def _verdict_consequences(self, version: Any, verdict: str) -> list[str]:
        if verdict == Verdict.APPROVE:
            left = version.reviewers_needed - approvals_of(self.kind, version) - 1
            after = (
                f"It then needs {left} more approval by another person."
                if left > 0
                else "It can then be published by a platform admin."
            )
            return ["Your name, the time and your reason are recorded for good.", after]
        return [
            "Your name, the time and your reason are recorded for good.",
            "This version ends here. The author can answer with a new version.",
        ]

    def _decide(self, request: HttpRequest, version: Any, form: DecisionForm) -> HttpResponse:
        values = form.cleaned_data
        try:
            self._perform_decision(request, version, values)
        except ContextOSError as refusal:
            form.add_error(None, f"{refusal.message} {refusal.remediation}")
            fresh = self.version_or_404(request, version.pk)
            return self._review_page(request, fresh, self.standing(request, fresh), form)
        messages.success(request, VERDICT_WORDS[values["verdict"]][1])
        return HttpResponseRedirect(self.address(version))

    def _perform_decision(self, request: HttpRequest, version: Any, values: dict[str, Any]) -> None:
        given: dict[str, Any] = {
            "version_id": version.pk,
            "reviewer": request.user,
            "actor": actor_of(request),
            "reason": values["reason"],
            "digest": values["digest"],
        }
        if values["verdict"] == Verdict.APPROVE:
            self.lifecycle.approve(**given, accepted_warnings=values["tick"])
        elif values["verdict"] == Verdict.REJECT:
            self.lifecycle.reject(**given)
        elif values["verdict"] == Verdict.REQUEST_CHANGES:
            self.lifecycle.request_changes(**given)
        else:
            raise PermissionDenied

    # --- the thread -------------------------------------------------------------------------
    def thread(self, version: Any) -> Any:
        """Everything said about a version, oldest first."""
        return version.reviews.select_related("reviewer")

    def may_comment(self, request: HttpRequest, version: Any) -> bool:
        """Reviewers ask, authors answer."""
        return self.allows(request, "review", version) or self.allows(request, "change", version)

    def comment_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Add to the thread."""
        version = self.version_or_404(request, object_id)
        if not self.may_comment(request, version):
            raise PermissionDenied
        form = CommentForm(request.POST if request.method == "POST" else None)
        if form.is_valid():
            self.lifecycle.comment(
                version_id=version.pk,
                reviewer=cast(User, request.user),
                actor=actor_of(request),
                text=form.cleaned_data["text"],
            )
            messages.success(request, "Your comment is in the thread.")
        else:
            messages.error(request, "A comment needs some words.")
        return HttpResponseRedirect(f"{self.address(version, 'review')}#thread")

    # --- lifecycle buttons ------------------------------------------------------------------
    def submit_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Put a draft before reviewers."""
        version = self.version_or_404(request, object_id)
        step = Step(
            "submit",
            f"Submit {version} for review",
            "Submit for review",
            "Submitted. Reviewers find it under Versions in review.",
            self.consequences("submit", version),
        )
        digest = request.POST.get("digest") or version.digest
        return self._ask(
            request,
            version,
            step,
            lambda given: self.lifecycle.submit(
                version_id=version.pk, actor=actor_of(request), digest=digest
            ),
        )

    def publish_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Sign and activate; of a deprecated version that is a rollback."""
        version = self.version_or_404(request, object_id)
        step = self._publish_step(version)
        return self._ask(
            request,
            version,
            step,
            lambda given: self.lifecycle.publish(
                version_id=version.pk, actor=actor_of(request), rollout_notes=given["notes"]
            ),
        )

    def _publish_step(self, version: Any) -> Step:
        if version.state == VersionState.DEPRECATED:
            return Step(
                "publish",
                f"Roll back to {version}",
                "Roll back",
                f"Rolled back: {version} is published again.",
                self.consequences("rollback", version),
                PublishForm,
                danger=True,
            )
        return Step(
            "publish",
            f"Publish {version}",
            "Sign and publish",
            f"{version} is signed and published.",
            self.consequences("publish", version),
            PublishForm,
        )

    def retire_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """End a version for good."""
        version = self.version_or_404(request, object_id)
        step = Step(
            "retire",
            f"Retire {version}",
            "Retire for good",
            f"{version} is retired.",
            self.consequences("retire", version),
            ReasonForm,
            danger=True,
        )
        return self._ask(
            request,
            version,
            step,
            lambda given: self.lifecycle.retire(
                version_id=version.pk, actor=actor_of(request), reason=given["reason"]
            ),
        )

    def may_press(self, request: HttpRequest, version: Any) -> dict[str, bool]:
        """Which buttons this person gets on this version: the state and the role both allow it."""
        targets = {
            "submit": VersionState.IN_REVIEW,
            "publish": VersionState.PUBLISHED,
            "retire": VersionState.RETIRED,
        }
        return {
            verb: LIFECYCLE.allows(version.state, target) and self.allows(request, verb, version)
            for verb, target in targets.items()
        }

    def _ask(
        self,
        request: HttpRequest,
        version: Any,
        step: Step,
        perform: Callable[[dict[str, Any]], object],
    ) -> HttpResponse:
        if not self.allows(request, step.verb, version):
            raise PermissionDenied
        form = step.form_class(request.POST if request.method == "POST" else None)
        if form.is_bound and form.is_valid():
            try:
                perform(form.cleaned_data)
            except ContextOSError as refusal:
                form.add_error(None, f"{refusal.message} {refusal.remediation}")
            else:
                messages.success(request, step.done)
                return HttpResponseRedirect(self.address(version))
        context = {
            **self.page_frame(request, version, step.title, short=step.button),
            "step": step,
            "form": form,
            "back": self.address(version),
        }
        status = 422 if form.is_bound else 200
        return TemplateResponse(request, self.confirm_template, context, status=status)

    def page_frame(
        self, request: HttpRequest, version: Any, title: str, *, short: str = ""
    ) -> dict[str, Any]:
        """What every page of a version needs; `short` names a page below the version's own."""
        return {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "original": version,
            "version": version,
            "title": title,
            "trail": self.trail(version, short),
        }

    def trail(self, version: Any, short: str) -> list[tuple[str, str]]:
        """The way to the page: addresses and words, the page itself last."""
        top = self.list_place()
        if not short:
            return [top, ("", str(version))]
        return [top, (self.address(version), str(version)), ("", short)]
