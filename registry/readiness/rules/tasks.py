"""Long-running work: bound to a policy and limited in time."""

from collections.abc import Iterator

from registry.manifest import Capability, Manifest
from registry.manifest.access import mapping, positive_number, text, texts
from registry.readiness.catalogue import rule
from registry.readiness.findings import Complaint, Severity
from registry.readiness.words import label


def _tasks(manifest: Manifest) -> Iterator[Capability]:
    for capability in manifest.capabilities:
        if text(mapping(capability.raw, "execution"), "mode") == "task":
            yield capability


@rule(
    "task.policy_missing",
    Severity.WARN,
    title="Long-running work is bound to no policy",
    why="A task outlives the call that started it; policy says who may poll or cancel it.",
    fix="Name the policies in `execution.policy_refs` or in the capability's `policy_refs`.",
)
def task_policy_missing(manifest: Manifest) -> Iterator[Complaint]:
    for capability in _tasks(manifest):
        own = texts(mapping(capability.raw, "execution"), "policy_refs")
        if not own and not texts(capability.raw, "policy_refs"):
            message = f"{label(capability)} runs as a task and is bound to no policy."
            yield Complaint(capability.at("execution", "policy_refs"), message)


@rule(
    "task.ttl_missing",
    Severity.WARN,
    title="Long-running work has no time to live",
    why="A task that never ends keeps its run, its state and its credentials alive.",
    fix="Declare `execution.ttl_seconds`.",
)
def task_ttl_missing(manifest: Manifest) -> Iterator[Complaint]:
    for capability in _tasks(manifest):
        if not positive_number(mapping(capability.raw, "execution"), "ttl_seconds"):
            message = f"{label(capability)} runs as a task without a time to live."
            yield Complaint(capability.at("execution", "ttl_seconds"), message)
