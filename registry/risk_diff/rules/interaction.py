"""Rules for what the server may ask back: model runs (sampling) and questions (elicitation)."""

from collections.abc import Iterator

from registry.risk_diff.comparers import (
    NARROWS,
    WIDENS,
    ceiling,
    guards,
    hazard,
    prose,
    replaced,
    safeguard,
)
from registry.risk_diff.place import Note, Place
from registry.risk_diff.rulebook import Scope, rule
from registry.risk_diff.rules.contract import compare_inline
from registry.risk_diff.schema import Role
from registry.risk_diff.values import MISSING, is_absent, member
from registry.risk_diff.wording import show_text

_BUDGET = ("max_requests_per_run", "max_iterations", "max_output_tokens", "max_cost_cents")


def _is_off(sampling: object) -> bool:
    return is_absent(sampling) or member(sampling, "declared") is False


def _while_on(manifest: Place) -> Place:
    """Sampling where both versions declare it; where one does not, the first rule says it all."""
    place = manifest.at("sampling")
    if _is_off(place.old) is _is_off(place.new):
        return place
    return Place(MISSING, MISSING)


@rule("sampling.declared", Scope.MANIFEST, "sampling.declared")
def check_declared(manifest: Place) -> Iterator[Note]:
    """With sampling the server can have our model run on texts of its own."""
    place = manifest.at("sampling")
    if _is_off(place.old) and not _is_off(place.new):
        yield place.note(WIDENS, "Sampling is switched on: the server may have a model run.")
    elif not _is_off(place.old) and _is_off(place.new):
        yield place.note(NARROWS, "Sampling is switched off.")
    else:
        # Either way the rest of the block stands, so a missing word switches nothing off.
        yield from replaced(place.at("declared"), "The declaration of sampling")


@rule("sampling.tools", Scope.MANIFEST, "sampling.tools_enabled")
def check_sampling_tools(manifest: Place) -> Iterator[Note]:
    """A model run with tools can act, not only answer."""
    yield from hazard(_while_on(manifest).at("tools_enabled"), "Tools in sampling")


@rule("sampling.budget", Scope.MANIFEST, "sampling.budget")
def check_budget(manifest: Place) -> Iterator[Note]:
    """The budget is all that bounds a server that keeps asking."""
    for name, budget in _while_on(manifest).at("budget").members():
        if name in _BUDGET:
            yield from ceiling(budget, f"The sampling budget {name}")
        else:
            yield from replaced(budget, f"The sampling budget {show_text(name)}", removed=WIDENS)


@rule(
    "sampling.oversight", Scope.MANIFEST, "sampling.human_review", "sampling.traced",
    "sampling.evaluation_set_ref", "sampling.policy_refs",
)  # fmt: skip
def check_oversight(manifest: Place) -> Iterator[Note]:
    """Nested model runs stay visible only through review, traces, evaluation and policy."""
    place = _while_on(manifest)
    yield from safeguard(place.at("human_review"), "Human review of sampling")
    yield from safeguard(place.at("traced"), "Tracing of sampling")
    evaluation = place.at("evaluation_set_ref")
    yield from replaced(evaluation, "The evaluation set for sampling", removed=WIDENS)
    yield from guards(place.at("policy_refs"), "The policies named for sampling")


@rule("sampling.purpose", Scope.MANIFEST, "sampling.purpose")
def check_purpose(manifest: Place) -> Iterator[Note]:
    """What the model is run for is what was agreed to."""
    yield from prose(_while_on(manifest).at("purpose"), "The purpose of sampling")


@rule("elicitation.mode", Scope.ELICITATION, "mode", "url_template")
def check_elicitation_mode(question: Place) -> Iterator[Note]:
    """A link takes the user out of our sight; another link, somewhere else."""
    yield from replaced(question.at("mode"), "The way of asking")
    yield from replaced(
        question.at("url_template"), "The link shown to the user", added=WIDENS, changed=WIDENS
    )


@rule("elicitation.purpose", Scope.ELICITATION, "purpose", "title", "description", "message")
def check_elicitation_purpose(question: Place) -> Iterator[Note]:
    """Users answer because of what they are told."""
    for name in ("purpose", "title", "description", "message"):
        yield from prose(question.at(name), f"The {name} of the question")


@rule("elicitation.form", Scope.ELICITATION, "schema")
def check_form(question: Place) -> Iterator[Note]:
    """A further field asks people for something more."""
    place = question.at("schema")
    if place.old is MISSING or place.new is MISSING:
        yield from replaced(place, "The form", added=WIDENS, removed=WIDENS)
    else:
        yield from compare_inline(place, Role.FORM)


@rule(
    "elicitation.consent", Scope.ELICITATION, "requires_user_consent", "user_may_decline",
    "state_binding", "policy_refs",
)  # fmt: skip
def check_consent(question: Place) -> Iterator[Note]:
    """A question that cannot be declined, or is not bound to its asker, can be abused."""
    yield from safeguard(question.at("requires_user_consent"), "Asking for the user's consent")
    yield from safeguard(question.at("user_may_decline"), "The user's right to decline")
    yield from safeguard(question.at("state_binding"), "Binding answers to the one who was asked")
    yield from guards(question.at("policy_refs"), "The policies named for the question")


@rule("elicitation.rate", Scope.ELICITATION, "rate_limit_per_run")
def check_elicitation_rate(question: Place) -> Iterator[Note]:
    """A user who is asked often enough says yes in the end."""
    place = question.at("rate_limit_per_run")
    yield from ceiling(place, "The number of times a run may ask")
