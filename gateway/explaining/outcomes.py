"""Failures of the last steps: the network, the adapter, and an answer off its contract."""

from __future__ import annotations

from contextos.core.errors import catalogue, spec_for
from gateway.explaining.table import explains
from gateway.explaining.types import Explanation, Refused, Step, Today, Way
from gateway.explaining.wording import DEVELOPER, OPERATOR, OWNER, again, remedy, said, titled

_EGRESS = tuple(spec.code for spec in catalogue() if spec.code.startswith("egress."))


@explains(*_EGRESS)
def explain_egress(refused: Refused, today: Today) -> Explanation:
    """The one door to the network did not let it through, or nobody answered behind it."""
    spec = spec_for(refused.code)
    return Explanation(
        step=Step.LIMITS if spec.http_status in (403, 422) else Step.INVOKE,
        headline=titled(refused),
        because=said(refused),
        ways=[
            remedy(refused, OWNER, refused.version),
            *again(refused),
        ],
        involved=[refused.capability],
    )


@explains(
    "function.unknown",
    "function.unsupported_action",
    "function.raised",
    "function.reply_too_large",
    "function.reply_not_json",
    "function.timeout",
    "function.busy",
    "function.runner_died",
    "function.runner_failed",
    "function.not_a_task",
)
def explain_function(refused: Refused, today: Today) -> Explanation:
    """The callable did not do its part."""
    return Explanation(
        step=Step.INVOKE,
        headline=titled(refused),
        because=said(refused),
        ways=[
            remedy(refused, OWNER, refused.version),
            *again(refused),
            Way("Look at the runner's log.", OPERATOR),
        ],
        involved=[refused.capability],
    )


@explains("output.schema", "output.unstorable")
def explain_output(refused: Refused, today: Today) -> Explanation:
    """The answer is not what was promised, so it is not passed on."""
    return Explanation(
        step=Step.NORMALISE,
        headline="The adapter answered something else than its reviewed contract says.",
        because=said(refused),
        missing=["An answer that matches the output schema"],
        ways=[Way("Mend the adapter, or have the new contract reviewed.", OWNER, refused.version)],
        involved=[refused.capability],
    )


@explains("payload.erased")
def explain_erased(refused: Refused, today: Today) -> Explanation:
    """The answer of that key was erased; the record and its proof stay."""
    return Explanation(
        step=Step.LIMITS,
        headline=titled(refused),
        because=said(refused),
        ways=[Way("Propose the call again with a new key, if it has to happen again.", DEVELOPER)],
        involved=[refused.capability],
    )
