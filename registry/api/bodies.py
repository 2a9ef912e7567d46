"""The bodies that the registry's REST takes; a member nobody knows is refused."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from contextos.restkit.fields import StrictTextField, StrictTruthField
from registry.models.kill_switches import KillScope
from registry.recorded_inputs import MOST_RECORDED

_REASON_LIMIT = 5000


class Body(serializers.Serializer[Any]):
    """A request body without room for misspelt members."""

    def to_internal_value(self, data: Any) -> Any:
        """As usual, once nothing unknown is there."""
        unknown = sorted(set(data) - set(self.fields))
        if unknown:
            raise serializers.ValidationError(
                {name[:100]: ["There is no such member."] for name in unknown[:20]}
            )
        return super().to_internal_value(data)


class NewAdapterBody(Body):
    """An adapter to register."""

    adapter_id = StrictTextField(max_length=100)
    name = StrictTextField(max_length=200)
    owner_role = StrictTextField(max_length=100, required=False, default="")


class NothingBody(Body):
    """No member at all."""


class ApproveBody(Body):
    """A reviewer's yes: each warning accepted by its id, or by its rule for all its places."""

    reason = StrictTextField(max_length=_REASON_LIMIT, allow_blank=True, default="")
    accepted_warnings = serializers.ListField(
        child=StrictTextField(max_length=700), required=False, max_length=5000, default=list
    )
    digest = StrictTextField(
        max_length=71, required=False, help_text="What you read; another document is refused."
    )


class RefuseBody(Body):
    """A reviewer's no, or a request for changes."""

    reason = StrictTextField(max_length=_REASON_LIMIT, allow_blank=True, default="")
    digest = StrictTextField(max_length=71, required=False)


class PublishBody(Body):
    """Notes for those who watch the roll-out."""

    rollout_notes = StrictTextField(
        max_length=_REASON_LIMIT, allow_blank=True, required=False, default=""
    )


class ReasonBody(Body):
    """Why."""

    reason = StrictTextField(max_length=_REASON_LIMIT, allow_blank=True, default="")


class ThrowBody(Body):
    """What to stop, and why; the tenant's own id stops everything."""

    scope = serializers.ChoiceField(choices=KillScope.choices)
    id = StrictTextField(
        max_length=200, help_text="A version by its version_id, or as adapter_id@version."
    )
    reason = StrictTextField(max_length=_REASON_LIMIT, allow_blank=True, default="")


class PublishPolicyBody(PublishBody):
    """As for every kind; in shadow a bundle is asked and recorded, and decides nothing."""

    shadow = StrictTruthField(
        required=False, default=False, help_text="Publish to watch only; publish again to decide."
    )


class SimulateBody(Body):
    """A bundle, whole or by reference, and what it is to decide on."""

    bundle = serializers.DictField(required=False, help_text="A whole policy bundle.")
    bundle_ref = StrictTextField(
        max_length=300, required=False, help_text="bundle_id@version, or the id of a version."
    )
    input = serializers.DictField(required=False, help_text="What a call brings before the policy.")
    last_n = serializers.IntegerField(
        min_value=1, max_value=MOST_RECORDED, required=False, help_text="The last recorded calls."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """One of each pair."""
        for pair in (("bundle", "bundle_ref"), ("input", "last_n")):
            if len([name for name in pair if name in attrs]) != 1:
                raise serializers.ValidationError(f"Send either {pair[0]} or {pair[1]}.")
        return attrs
