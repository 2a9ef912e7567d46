"""Refusals before the first step: tokens, runs and the shape of the request."""

from __future__ import annotations

from gateway.explaining.table import explains
from gateway.explaining.types import Explanation, Ref, Refused, Step, Today, Way
from gateway.explaining.wording import ADMIN, AUTHOR, DEVELOPER, remedy, said, titled

_TOKENS = Ref("token", "", "Tokens")


@explains(
    "auth.missing",
    "auth.malformed",
    "auth.algorithm",
    "auth.unknown_key",
    "auth.bad_signature",
    "auth.claim_missing",
    "auth.claim_invalid",
    "auth.wrong_type",
    "auth.expired",
    "auth.not_yet_valid",
    "auth.wrong_audience",
    "auth.wrong_issuer",
    "auth.revoked",
    "auth.tenant_mismatch",
    "auth.subject_inactive",
    "auth.tenant_needed",
    "auth.keys_unavailable",
    "auth.person_needed",
    "principal.invalid",
    "tenant.forbidden",
)
def explain_identity(refused: Refused, today: Today) -> Explanation:
    """The tokens do not say who is calling in a way that can be believed."""
    return Explanation(
        step=Step.DOOR,
        headline=titled(refused),
        because=[
            "Nothing about the call itself was looked at: first it has to be clear who is calling.",
            *said(refused),
        ],
        missing=["A token of this tenant that is valid now"],
        ways=[
            remedy(refused, DEVELOPER),
            Way("Issue a new token for the agent.", ADMIN, _TOKENS),
        ],
        involved=[ref for ref in (refused.agent,) if ref],
    )


@explains("auth.scope")
def explain_narrow_token(refused: Refused, today: Today) -> Explanation:
    """The token was issued for fewer calls than the agent may make."""
    return Explanation(
        step=Step.RESOLVE,
        headline=f"The tokens sent do not reach {refused.capability_id or 'this call'}.",
        because=[
            *said(refused),
            (
                "The Context Pack may permit the call, but a token, the agent's or that of the "
                "person it acts for, was issued for some capabilities or up to some mode only."
            ),
        ],
        missing=["Tokens that are not narrowed, or reach the capability and its mode"],
        ways=[
            Way("Call with tokens of the same agent and person that reach it."),
            Way("Issue a token whose scopes and mode take in the call.", ADMIN, _TOKENS),
        ],
        involved=[ref for ref in (refused.agent, refused.capability) if ref],
    )


@explains("run.agent_needed", "run.claim_exceeds_token")
def explain_claims(refused: Refused, today: Today) -> Explanation:
    """Identity is read from tokens, never from the body."""
    return Explanation(
        step=Step.DOOR,
        headline=titled(refused),
        because=[
            (
                "Who acts, and for whom, is taken from the tokens: the agent from the Bearer "
                "token, the person from X-User-Delegation."
            ),
        ],
        ways=[remedy(refused, DEVELOPER)],
    )


@explains("run.unknown", "call.unknown")
def explain_not_yours(refused: Refused, today: Today) -> Explanation:
    """Ids of others do not exist; that a run exists is not told to a stranger."""
    noun = "run" if refused.code == "run.unknown" else "call"
    return Explanation(
        step=Step.DOOR,
        headline=f"There is no such {noun} of this caller.",
        because=[
            (
                f"A {noun} belongs to the agent that opened it, together with the person it acted "
                "for. Another agent, the same agent without that person's delegation, or another "
                "tenant gets the same answer as for an id that was never given out."
            ),
        ],
        missing=[f"A {noun} id that this agent got itself, with the same delegation"],
        ways=[
            Way("Send the same Bearer token and the same X-User-Delegation as at the opening."),
            Way("Open a new run and use its id."),
        ],
        involved=[ref for ref in (refused.agent,) if ref],
    )


@explains("run.environment_unknown", "run.budget_invalid", "run.mode_above_token")
def explain_run_terms(refused: Refused, today: Today) -> Explanation:
    """The run asked for more than the tenant or the token gives."""
    wider = {
        "run.environment_unknown": "Add the environment to the tenant.",
        "run.budget_invalid": "Raise the tenant's limits for runs, on the tenant's page.",
        "run.mode_above_token": "Issue a token that carries the mode.",
    }
    return Explanation(
        step=Step.DOOR,
        headline=titled(refused),
        because=said(refused),
        ways=[remedy(refused, DEVELOPER), Way(wider[refused.code], ADMIN)],
    )


@explains("run.no_pack", "pack.unknown")
def explain_no_pack(refused: Refused, today: Today) -> Explanation:
    """Without a pack a run may call nothing, so it is not opened."""
    return Explanation(
        step=Step.DOOR,
        headline="No published Context Pack lets a run be opened for this intent.",
        because=[
            (
                "A run may call what its Context Packs permit and nothing else. "
                "Without a pack there is nothing to open a run for."
            ),
            *said(refused),
        ],
        missing=[f"A published pack that serves the intent {refused.intent or 'of the run'}"],
        ways=[
            Way("Open the run for an intent that a published pack serves."),
            Way("Publish a pack for the intent.", AUTHOR, Ref("pack", "", "Context Packs")),
        ],
    )


@explains(
    "request.invalid",
    "json.malformed",
    "json.duplicate_key",
    "json.too_deep",
    "json.too_large",
    "json.not_an_object",
    "json.unstorable",
)
def explain_request(refused: Refused, today: Today) -> Explanation:
    """The body is not one the gateway reads."""
    return Explanation(
        step=Step.DOOR,
        headline=titled(refused),
        because=said(refused),
        ways=[remedy(refused, DEVELOPER)],
    )
