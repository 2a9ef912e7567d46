"""Model calls on a server's request: declared, budgeted, bound to a policy."""

from collections.abc import Iterator

from registry.manifest import Manifest
from registry.manifest.access import is_true, mapping, texts
from registry.readiness.catalogue import rule
from registry.readiness.findings import Complaint, Severity

_LIMITS = ("max_requests_per_run", "max_iterations", "max_output_tokens", "max_cost_cents")


def _is_declared(manifest: Manifest) -> bool:
    given = manifest.document.get("sampling")
    return given is True or is_true(mapping(manifest.document, "sampling"), "declared")


def _limits(manifest: Manifest) -> tuple[str, ...]:
    budget = mapping(mapping(manifest.document, "sampling"), "budget")
    return tuple(name for name in _LIMITS if _is_limit(budget.get(name)))


def _is_limit(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


@rule(
    "sampling.budget.missing",
    Severity.BLOCK,
    title="Sampling has no budget",
    why="A server that may ask for model calls without limit can spend without limit.",
    fix=f"Declare `budget` with {', '.join(_LIMITS)}.",
)
def sampling_budget_missing(manifest: Manifest) -> Iterator[Complaint]:
    if _is_declared(manifest) and not _limits(manifest):
        yield Complaint("/sampling/budget", "The adapter may ask for model calls without limit.")


@rule(
    "sampling.budget.partial",
    Severity.WARN,
    title="The sampling budget leaves something unlimited",
    why="Requests, iterations, tokens and cost run away separately.",
    fix=f"Declare all of {', '.join(_LIMITS)}.",
)
def sampling_budget_partial(manifest: Manifest) -> Iterator[Complaint]:
    given = _limits(manifest)
    missing = [name for name in _LIMITS if name not in given]
    if _is_declared(manifest) and given and missing:
        yield Complaint("/sampling/budget", f"The budget does not limit {', '.join(missing)}.")


@rule(
    "sampling.policy_missing",
    Severity.WARN,
    title="Sampling is bound to no policy",
    why="Which model is called, and whether a person looks first, is for policy to say.",
    fix="Name the policies in `policy_refs`.",
)
def sampling_policy_missing(manifest: Manifest) -> Iterator[Complaint]:
    if _is_declared(manifest) and not texts(mapping(manifest.document, "sampling"), "policy_refs"):
        yield Complaint("/sampling/policy_refs", "Sampling is bound to no policy.")
