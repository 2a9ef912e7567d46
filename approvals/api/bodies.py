"""The bodies that approvals' REST takes; a member nobody knows, or of another type, is 400."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from approvals.services.remarks import MAX_TEXT
from approvals.services.votes import MAX_REASON
from contextos.core.errors import coded_error
from contextos.restkit.fields import StrictTextField


class TextField(StrictTextField):
    """Text as it was sent: nothing is trimmed."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**{"allow_blank": True, "trim_whitespace": False, **how})


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


class VoteBody(Body):
    """A vote: what was shown is named by its digest."""

    reason = TextField(
        required=False,
        default="",
        max_length=MAX_REASON,
        help_text="Needed to reject, and to approve a destructive call.",
    )
    digest = TextField(
        required=False,
        default=None,
        allow_null=True,
        max_length=100,
        help_text="`subject.digest` as you read it; a vote without it is 409.",
    )
    otp = TextField(
        required=False,
        default=None,
        allow_null=True,
        max_length=20,
        help_text="The six digits of your authenticator app, where the gate asks for them.",
    )
    on_behalf_of = TextField(
        required=False,
        default=None,
        allow_null=True,
        max_length=150,
        help_text="user_id of the person whose delegation to you is in force.",
    )


class CommentBody(Body):
    """Something to say about a request."""

    text = TextField(max_length=MAX_TEXT)


class NothingBody(Body):
    """No member at all."""


def read_body(request: Request, kind: type[Body]) -> dict[str, Any]:
    """The body, if it has the shape; every fault is named with its member."""
    read = kind(data=request.data)
    if not read.is_valid():
        name, said = next(iter(read.errors.items()))
        raise coded_error(
            "request.invalid",
            message=f"{name}: {said[0]}",
            data={"fields": {str(k): [str(e) for e in v] for k, v in read.errors.items()}},
        )
    return dict(read.validated_data)
