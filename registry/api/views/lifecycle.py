"""The steps of an adapter version's life, each by the people it is for."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema, extend_schema_view
from rest_framework.response import Response

from registry.api.base import RegistryView
from registry.api.examples import VERSION
from registry.api.serializers import VersionSerializer
from registry.api.views.steps import STEPS, StepView
from registry.api.views.versions import version_response
from registry.models import AdapterVersion
from registry.services.lifecycle import ADAPTER_LIFECYCLE

_APPROVAL = OpenApiExample(
    "Approve, accepting a warning",
    request_only=True,
    value={
        "reason": "Read the whole diff; the new field is harmless.",
        "accepted_warnings": ["transport.origin_missing@/transport/origin_allowlist"],
    },
)
_REASON = OpenApiExample(
    "A reason", request_only=True, value={"reason": "The refund limit is missing."}
)
_NOTES = OpenApiExample(
    "Notes", request_only=True, value={"rollout_notes": "Watched by the payments team."}
)
_EXAMPLES = {
    "approve": _APPROVAL,
    "reject": _REASON,
    "request-changes": _REASON,
    "publish": _NOTES,
    "retire": _REASON,
}
_DESCRIPTIONS = {
    "approve": "Approve what others wrote; destructive manifests need two people.",
    "reject": "Reject a version for good, with a reason.",
    "request-changes": "Ask for a new version, saying what has to change.",
}


class AdapterVersionStep(RegistryView):
    """A step of the adapter version that the address names."""

    lifecycle = ADAPTER_LIFECYCLE

    def subject(self) -> AdapterVersion:
        """By its number or its id."""
        return self.version()

    def answer(self, version: AdapterVersion) -> Response:
        """In full, under its ETag."""
        return version_response(version)


def _step_view(step: str, base: type[StepView]) -> type[Any]:
    members = {"__doc__": base.__doc__, "__module__": __name__}
    view = type(f"AdapterVersion{base.__name__}", (AdapterVersionStep, base), members)
    said = extend_schema(
        operation_id=f"versions_{step.replace('-', '_')}",
        tags=["lifecycle"],
        description=_DESCRIPTIONS.get(step),
        request=base.body_class,
        responses=VersionSerializer,
        examples=[*([_EXAMPLES[step]] if step in _EXAMPLES else []), VERSION],
    )
    return extend_schema_view(post=said)(view)


STEP_VIEWS = {step: _step_view(step, base) for step, base in STEPS}
