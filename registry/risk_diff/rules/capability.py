"""Rules for what a capability may do, for whom, and under which checks."""

from collections.abc import Iterator

from contextos.core.modes import ApprovalMode, CapabilityClass
from registry.manifest.normalise import decision_key
from registry.risk_diff.comparers import (
    NARROWS,
    NEUTRAL,
    UNKNOWN,
    WIDENS,
    Absent,
    ceiling,
    floor,
    grants,
    guards,
    prose,
    ranked,
    replaced,
    safeguard,
)
from registry.risk_diff.place import Note, Place
from registry.risk_diff.rulebook import Scope, rule
from registry.risk_diff.rules.catalogue import BINDINGS
from registry.risk_diff.values import list_of, missing_from
from registry.risk_diff.wording import show_list

_MODES = tuple(mode.value for mode in ApprovalMode)


@rule("capability.approval_mode", Scope.CAPABILITY, "approval_mode")
def check_approval_mode(capability: Place) -> Iterator[Note]:
    """A higher maximum allows riskier effects; a lower one takes gates, keys and evidence away,
    which is only right if the tool really does less."""
    place = capability.at("approval_mode")
    yield from ranked(place, "The highest mode", _MODES, raised=WIDENS, lowered=UNKNOWN)


@rule("capability.class", Scope.CAPABILITY, "capability_class")
def check_class(capability: Place) -> Iterator[Note]:
    """`act` changes the world; to be anything else takes the safeguards of a write away."""
    place = capability.at("capability_class")
    changed = WIDENS if place.new == CapabilityClass.ACT.value else UNKNOWN
    yield from replaced(place, "The class", removed=WIDENS, changed=changed)


@rule("capability.gate", Scope.CAPABILITY, "requires_approval_gate")
def check_gate(capability: Place) -> Iterator[Note]:
    """Without the gate no person is asked; another gate asks other people."""
    place = capability.at("requires_approval_gate")
    yield from replaced(place, "The approval gate", added=NARROWS, removed=WIDENS)


@rule("capability.binding", Scope.CAPABILITY, *BINDINGS)
def check_binding(capability: Place) -> Iterator[Note]:
    """The same name with another tool behind it does something nobody reviewed."""
    for name in BINDINGS:
        yield from replaced(
            capability.at(name), "The tool behind this name", added=WIDENS, changed=WIDENS
        )


@rule("capability.description", Scope.CAPABILITY, "description", "title", "name")
def check_description(capability: Place) -> Iterator[Note]:
    """The model decides by these texts what to call and what to send, so they can mislead it."""
    for name in ("description", "title", "name"):
        yield from prose(capability.at(name), f"The {name}")


@rule("capability.owner", Scope.CAPABILITY, "owner_role", "domain")
def check_owner(capability: Place) -> Iterator[Note]:
    """Someone else answers for the capability from now on."""
    yield from replaced(capability.at("owner_role"), "The owner")
    yield from replaced(capability.at("domain"), "The domain")


@rule("capability.tenants", Scope.CAPABILITY, "tenants")
def check_tenants(capability: Place) -> Iterator[Note]:
    """Left out, every tenant may use it; a list narrows."""
    tenants = capability.at("tenants")
    yield from grants(tenants, "The tenants", absent=Absent.EMPTY_IS_EVERYTHING)


@rule("capability.intents", Scope.CAPABILITY, "intents")
def check_intents(capability: Place) -> Iterator[Note]:
    """Left out, it serves every intent; a list narrows."""
    intents = capability.at("intents")
    yield from grants(intents, "The intents", absent=Absent.EMPTY_IS_EVERYTHING)


@rule("capability.required_claims", Scope.CAPABILITY, "required_claims")
def check_required_claims(capability: Place) -> Iterator[Note]:
    """A claim that is no longer demanded no longer keeps anyone out."""
    yield from guards(capability.at("required_claims"), "The claims a caller must have")


@rule("capability.policy_refs", Scope.CAPABILITY, "policy_refs")
def check_policy_refs(capability: Place) -> Iterator[Note]:
    """A policy that is no longer named may no longer be applied."""
    yield from guards(capability.at("policy_refs"), "The policies named")


@rule("capability.decisions", Scope.CAPABILITY, "decision_bindings", "decision_binding")
def check_decisions(capability: Place) -> Iterator[Note]:
    """A capability bound to a further decision takes part in deciding more."""
    place = capability.at("decision_bindings")
    old, new = list_of(place.old), list_of(place.new)
    if old and new and place.differs:
        yield from _decision_changes(place, _bare(old), _bare(new))
    else:
        yield from grants(place, "The decisions it serves", absent=Absent.UNCLEAR)
    yield from replaced(capability.at("decision_binding"), "The decision it serves")


def _bare(decisions: list[object]) -> list[object]:
    return [decision_key(name) if isinstance(name, str) else name for name in decisions]


def _decision_changes(place: Place, old: list[object], new: list[object]) -> Iterator[Note]:
    gained, lost = missing_from(new, old), missing_from(old, new)
    if gained:
        yield place.note(WIDENS, f"It now also serves the decisions {show_list(gained)}.")
    if lost:
        yield place.note(NARROWS, f"It no longer serves the decisions {show_list(lost)}.")
    if not gained and not lost:
        yield place.note(NEUTRAL, "It serves the same decisions, now written in another way.")


@rule("capability.fallback", Scope.CAPABILITY, "fallback_capability")
def check_fallback(capability: Place) -> Iterator[Note]:
    """A fallback sends the call to another capability when this one fails."""
    place = capability.at("fallback_capability")
    yield from replaced(place, "The fallback", added=WIDENS, removed=NARROWS, changed=WIDENS)


@rule("capability.icons", Scope.CAPABILITY, "icons")
def check_icons(capability: Place) -> Iterator[Note]:
    """Icons are fetched from where the manifest says, and suggest what a tool is."""
    yield from replaced(capability.at("icons"), "The icons", removed=NARROWS)


@rule("capability.param_map", Scope.CAPABILITY, "param_map")
def check_param_map(capability: Place) -> Iterator[Note]:
    """The map decides which argument lands in which part of the request."""
    yield from replaced(capability.at("param_map"), "The map from arguments to the request")


@rule("idempotency.required", Scope.CAPABILITY, "idempotency")
def check_idempotency(capability: Place) -> Iterator[Note]:
    """Without a key, or without dedup at the adapter, one intention can take effect twice."""
    place = capability.at("idempotency")
    yield from safeguard(place.at("required"), "Demanding an idempotency key")
    yield from safeguard(place.at("adapter_dedup"), "Dedup at the adapter")
    status = place.at("status_capability")
    yield from replaced(status, "The capability that tells an outcome", removed=WIDENS)


@rule("idempotency.window", Scope.CAPABILITY, "idempotency.dedup_window_seconds")
def check_window(capability: Place) -> Iterator[Note]:
    """Once the window is over, the same key takes effect again."""
    place = capability.at("idempotency", "dedup_window_seconds")
    yield from floor(place, "The time in which a repeat is recognised", unit="seconds")


@rule("capability.rate_limit", Scope.CAPABILITY, "rate_limit")
def check_rate_limit(capability: Place) -> Iterator[Note]:
    """The rate bounds how much damage a loop or a hijacked agent does before someone notices."""
    place = capability.at("rate_limit")
    if not isinstance(place.old, dict) or not isinstance(place.new, dict):
        yield from replaced(place, "The rate limit", added=NARROWS, removed=WIDENS)
        return
    yield from ceiling(place.at("max"), "The number of calls allowed at a time")
    # Over a longer time the same number of calls is fewer.
    yield from floor(place.at("per_seconds"), "The time for that many calls", unit="seconds")


@rule("capability.cost", Scope.CAPABILITY, "cost")
def check_cost(capability: Place) -> Iterator[Note]:
    """A smaller reserve lets a run spend more before its budget stops it."""
    place = capability.at("cost")
    yield from floor(place.at("reserve_cents"), "The cost set aside for a call", unit="cents")
    yield from replaced(place.at("actual_pointer"), "Where the actual cost is read", removed=WIDENS)


@rule("capability.timeout", Scope.CAPABILITY, "timeout_seconds")
def check_timeout(capability: Place) -> Iterator[Note]:
    """A call that may hang for longer holds a place and a credential for longer."""
    place = capability.at("timeout_seconds")
    yield from ceiling(place, "The time a call may take", unit="seconds")


@rule("execution.mode", Scope.CAPABILITY, "execution.mode")
def check_execution_mode(capability: Place) -> Iterator[Note]:
    """A task outlives the call that started it; a call is watched to its end."""
    place = capability.at("execution", "mode")
    yield from replaced(place, "The way it runs", changed=UNKNOWN)


@rule("execution.cancellable", Scope.CAPABILITY, "execution.cancellable")
def check_cancellable(capability: Place) -> Iterator[Note]:
    """What cannot be cancelled cannot be stopped once it has started."""
    yield from safeguard(capability.at("execution", "cancellable"), "Cancelling a running call")


@rule(
    "execution.duration", Scope.CAPABILITY, "execution.ttl_seconds",
    "execution.poll_interval_seconds",
)  # fmt: skip
def check_duration(capability: Place) -> Iterator[Note]:
    """A task that lives longer, or is asked after more often, takes more than was allowed for."""
    place = capability.at("execution")
    yield from ceiling(place.at("ttl_seconds"), "The time a task may live", unit="seconds")
    pause = place.at("poll_interval_seconds")
    yield from floor(pause, "The pause between two looks at a task", unit="seconds")


@rule("execution.policy_refs", Scope.CAPABILITY, "execution.policy_refs")
def check_execution_policies(capability: Place) -> Iterator[Note]:
    """A policy that is no longer named may no longer be applied to tasks."""
    yield from guards(capability.at("execution", "policy_refs"), "The policies named for tasks")


@rule("retry.attempts", Scope.CAPABILITY, "retry_policy.max_attempts")
def check_attempts(capability: Place) -> Iterator[Note]:
    """Each attempt can take effect; more attempts can take effect more often."""
    place = capability.at("retry_policy", "max_attempts")
    yield from ceiling(place, "The number of attempts", absent=Absent.UNCLEAR)


@rule("retry.error_codes", Scope.CAPABILITY, "retry_policy.retryable_error_codes")
def check_error_codes(capability: Place) -> Iterator[Note]:
    """A further error after which the call is simply repeated."""
    place = capability.at("retry_policy", "retryable_error_codes")
    yield from grants(place, "The errors after which a call is repeated")


@rule("retry.same_key", Scope.CAPABILITY, "retry_policy.requires_same_idempotency_key")
def check_same_key(capability: Place) -> Iterator[Note]:
    """A repeat under another key is a second effect."""
    place = capability.at("retry_policy", "requires_same_idempotency_key")
    yield from safeguard(place, "Repeating only under the same idempotency key")
