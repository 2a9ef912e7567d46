"""The steps of a version's life, the same for manifests, packs and policy bundles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from rest_framework.request import Request
from rest_framework.response import Response

from registry.api.base import RegistryView
from registry.api.bodies import ApproveBody, Body, NothingBody, PublishBody, ReasonBody, RefuseBody
from registry.api.etags import expected_digest
from registry.roles import AUTHORS, PUBLISHERS, REVIEWERS


class StepView(RegistryView):
    """One step; a concrete view says of which version, by which lifecycle, and how it answers."""

    lifecycle: ClassVar[Any]
    body_class: ClassVar[type[Body]] = NothingBody
    subject: Callable[[], Any]  # the version of the address
    answer: Callable[[Any], Response]  # the version in full, as it is now


class SubmitStep(StepView):
    """draft -> in_review."""

    roles_by_method = {"POST": AUTHORS}

    def post(self, request: Request, **address: str) -> Response:
        """Put a draft before reviewers; blocking findings stop it, and it can't be edited after."""
        self.body(self.body_class)
        moved = self.lifecycle.submit(
            version_id=self.subject().version_id,
            actor=self.principal.as_actor(),
            digest=expected_digest(request),
        )
        return self.answer(moved)


class DecisionStep(StepView):
    """What a reviewer says."""

    roles_by_method = {"POST": REVIEWERS}
    verb: ClassVar[str]

    def post(self, request: Request, **address: str) -> Response:
        """Decide on what others wrote."""
        moved = getattr(self.lifecycle, self.verb)(
            version_id=self.subject().version_id,
            reviewer=self.person(),
            actor=self.principal.as_actor(),
            **self.body(self.body_class),
        )
        return self.answer(moved)


class ApproveStep(DecisionStep):
    """One reviewer's yes."""

    verb, body_class = "approve", ApproveBody


class RejectStep(DecisionStep):
    """One reviewer's no."""

    verb, body_class = "reject", RefuseBody


class RequestChangesStep(DecisionStep):
    """One reviewer's not yet."""

    verb, body_class = "request_changes", RefuseBody


class PublishStep(StepView):
    """approved -> published, and deprecated -> published as a rollback."""

    roles_by_method = {"POST": PUBLISHERS}
    body_class = PublishBody

    def post(self, request: Request, **address: str) -> Response:
        """Sign and activate an approved version; publishing a deprecated one again rolls back."""
        moved = self.lifecycle.publish(
            version_id=self.subject().version_id,
            actor=self.principal.as_actor(),
            **self.body(self.body_class),
        )
        return self.answer(moved)


class RetireStep(StepView):
    """The end of a version."""

    roles_by_method = {"POST": PUBLISHERS}
    body_class = ReasonBody

    def post(self, request: Request, **address: str) -> Response:
        """Retire a version for good: from the next call on nothing runs on it."""
        moved = self.lifecycle.retire(
            version_id=self.subject().version_id,
            actor=self.principal.as_actor(),
            **self.body(self.body_class),
        )
        return self.answer(moved)


STEPS: tuple[tuple[str, type[StepView]], ...] = (
    ("submit", SubmitStep),
    ("approve", ApproveStep),
    ("reject", RejectStep),
    ("request-changes", RequestChangesStep),
    ("publish", PublishStep),
    ("retire", RetireStep),
)
