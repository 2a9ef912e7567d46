"""Admin pages of policy bundles: list, version, review, editor, simulator."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils.safestring import SafeString

from contextos.adminkit.actions import display
from contextos.adminkit.display import badge
from contextos.core.errors import ContextOSError
from contextos.core.text import single_line
from contextos.identity.actors import actor_of
from contextos.review.admin import Step
from contextos.review.draft_pages import Editing
from contextos.review.forms import PublishForm
from contextos.review.signed_documents import open_document
from contextos.review.states import VersionState
from registry.admin.comparison import value_text
from registry.admin.documents import DocumentAdmin
from registry.admin.filters import ShadowFilter
from registry.admin.simulator import SimulatorPage
from registry.admin.syntax_help import help_context
from registry.models import PolicyBundleVersion, PolicyReview
from registry.policy import BundleTestResult, run_bundle_tests
from registry.services import policies
from registry.services.policies import BUNDLE_DOCUMENTS, POLICY_BUNDLES, POLICY_LIFECYCLE


class PublishPolicyForm(PublishForm):
    """Where a bundle starts: watching, or deciding."""

    shadow = forms.BooleanField(
        label="Publish in shadow",
        required=False,
        help_text="It is asked and recorded beside the others, and decides nothing yet.",
    )


@admin.register(PolicyBundleVersion)
class PolicyBundleAdmin(SimulatorPage, DocumentAdmin):
    """The rules that decide governed calls."""

    kind = POLICY_BUNDLES
    lifecycle = POLICY_LIFECYCLE
    document_kind = BUNDLE_DOCUMENTS
    document_services = policies
    reviews_of = PolicyReview
    example = settings.BASE_DIR / "examples" / "policies" / "refunds.json"
    noun = "policy bundle"
    edit_template = "registry/policy_edit.html"
    contents_template = "registry/parts/policy_contents.html"
    contents_title = "Rules and tests"
    list_display = [
        "shown_version",
        "shown_state",
        "effect",
        "priority",
        "rules",
        "tests",
        "found",
        "progress",
        "since",
    ]
    list_filter = [*DocumentAdmin.list_filter, ShadowFilter]
    search_fields = ["bundle_id", "version", "owner_role", "=version_id"]
    search_help_text = "Bundle, number, owner or exact version id."
    nav_icon = "gavel"
    nav_order = 34
    nav_badge = "registry.panels.policies_in_review"
    empty_title = "No policy bundles yet"
    empty_text = (
        "A policy bundle holds the rules that every governed call is decided by. "
        "A tenant without a published bundle is denied everything."
    )
    empty_action = ("Write your first policy", "admin:registry_policybundleversion_new")

    @display(description="Effect")
    def effect(self, version: PolicyBundleVersion) -> SafeString:
        """Whether it decides."""
        if version.state != VersionState.PUBLISHED:
            return badge("none", "neutral")
        return badge("watches only", "info") if version.shadow else badge("decides", "success")

    @display(description="Rules", ordering="rule_count")
    def rules(self, version: PolicyBundleVersion) -> int:
        """How many it has."""
        return version.rule_count

    @display(description="Tests", ordering="test_count")
    def tests(self, version: PolicyBundleVersion) -> int:
        """How many it carries."""
        return version.test_count

    def get_urls(self) -> list[URLPattern]:
        """The simulator before the pages of versions."""
        view = self.admin_site.admin_view(self.simulator_view)
        own = path("simulator/", view, name="registry_policybundleversion_simulator")
        return [own, *super().get_urls()]

    def contents(self, document: dict[str, Any]) -> dict[str, Any]:
        """The rules, the guardrails and how the tests come out."""
        rules = document.get("rules")
        rows = [rule for rule in rules if isinstance(rule, dict)] if isinstance(rules, list) else []
        return {
            "rules": [_rule_row(rule) for rule in rows],
            "guardrails": value_text(document.get("guardrails")),
            "tests": _tests_of(document),
        }

    def editing_context(self, request: HttpRequest, editing: Editing) -> dict[str, Any]:
        """Help with the language, and how the tests come out."""
        return {**help_context(), "tests": _tests_of(editing.document or {})}

    def header_context(self, request: HttpRequest, version: Any) -> dict[str, Any]:
        """With what it does now; from watching to deciding is a button of its own."""
        frame = super().header_context(request, version)
        watching = version.state == VersionState.PUBLISHED and version.shadow
        if watching and self.allows(request, "publish", version):
            frame["buttons"] = {**frame["buttons"], "enforce": True}
        return {**frame, "effect": self.effect(version), "simulates": True}

    def review_context(self, request: HttpRequest, version: Any) -> dict[str, Any]:
        """With how the tests come out now."""
        opened = open_document(version).document
        tests = _tests_of(opened) if opened is not None else None
        return {**super().review_context(request, version), "tests": tests}

    # --- publication --------------------------------------------------------------------------
    def publish_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Sign and activate: to decide, or to watch first."""
        version = self.version_or_404(request, object_id)
        watching = version.state == VersionState.PUBLISHED and version.shadow
        step = self._enforce_step(version) if watching else self._publish_step(version)
        return self._ask(
            request,
            version,
            step,
            lambda given: self.lifecycle.publish(
                version_id=version.pk,
                actor=actor_of(request),
                rollout_notes=given["notes"],
                shadow=bool(given.get("shadow")),
            ),
        )

    def _publish_step(self, version: Any) -> Step:
        step = super()._publish_step(version)
        return Step(
            step.verb,
            step.title,
            step.button,
            step.done,
            step.consequences,
            PublishPolicyForm,
            step.danger,
        )

    def _enforce_step(self, version: Any) -> Step:
        return Step(
            "publish",
            f"Let {version} decide",
            "Let it decide",
            f"{version} decides from the next call on.",
            _CONSEQUENCES["enforce"],
            PublishForm,
        )

    def consequences(self, verb: str, version: Any) -> list[str]:
        """What a button sets in motion."""
        if verb != "submit":
            return _CONSEQUENCES[verb]
        opened = open_document(version).document
        return [_tests_in_words(_tests_of(opened or {})), *_CONSEQUENCES[verb]]


_CONSEQUENCES = {
    "submit": [
        "It can't be edited any more; a change is a new version.",
        "Somebody who did not write on it has to approve it.",
    ],
    "publish": [
        "Its tests run once more; if all pass it is signed and decides from the next call on.",
        "The version that decided until now is deprecated.",
        "In shadow it is asked and recorded only, and the version that decides stays.",
    ],
    "rollback": [
        "This version decides again from the next call on; its signature is checked once more.",
        "The version that decided until now is deprecated.",
    ],
    "enforce": [
        "Until now it was asked and recorded only. From the next call on it decides.",
        "The version that decided until now is deprecated.",
    ],
    "retire": [
        "It ends for good: from the next call on its rules are not asked any more.",
        "If no other bundle is published, every call of the tenant is denied.",
    ],
}


def _tests_of(document: dict[str, Any]) -> tuple[BundleTestResult, ...] | None:
    """None where the bundle can't be compiled, which its findings explain."""
    try:
        return run_bundle_tests(document)
    except ContextOSError:
        return None


def _tests_in_words(tests: tuple[BundleTestResult, ...] | None) -> str:
    if not tests:
        return "It carries no tests, which a reviewer has to accept."
    failing = [test.name for test in tests if not test.passed]
    if failing:
        return f"{len(failing)} of its {len(tests)} tests fail, so it can't be submitted."
    return f"All of its {len(tests)} tests pass; they run again at publication."


def _rule_row(rule: dict[str, Any]) -> dict[str, Any]:
    then = rule.get("then")
    return {
        "id": single_line(str(rule.get("rule_id", "")), limit=120),
        "description": str(rule.get("description", "")),
        "applies_to": value_text(rule.get("applies_to")) if rule.get("applies_to") else "",
        "condition": value_text(rule.get("if")),
        "then": value_text(then),
        "denies": isinstance(then, dict) and then.get("allow") is False,
    }
