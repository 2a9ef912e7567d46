"""What every capability must declare about itself: its class, its mode, its tool."""

from collections.abc import Iterator

from contextos.core.modes import ApprovalMode, CapabilityClass, mode_fits_class, modes_allowed_for
from registry.manifest import Capability, Manifest
from registry.readiness.catalogue import rule
from registry.readiness.findings import Complaint, Severity
from registry.readiness.words import label, show, split_words

_MODES = ", ".join(ApprovalMode)
_CLASSES = ", ".join(CapabilityClass)
# Verbs that promise a change; a read that begins with one deserves a second look.
_CHANGING_VERBS = frozenset(
    {
        "cancel",
        "create",
        "delete",
        "destroy",
        "drop",
        "insert",
        "issue",
        "overwrite",
        "purge",
        "remove",
        "send",
        "truncate",
        "update",
        "upsert",
        "write",
    }
)


@rule(
    "capability.approval_mode.missing",
    Severity.BLOCK,
    title="A capability has no approval mode",
    why="Without the highest mode an operation can reach, nobody can say how risky a call is.",
    fix=f"Declare `approval_mode` as one of {_MODES}.",
)
def approval_mode_missing(manifest: Manifest) -> Iterator[Complaint]:
    for capability in manifest.capabilities:
        if capability.raw.get("approval_mode") in (None, ""):
            message = f"{label(capability)} declares no approval mode."
            yield Complaint(capability.at("approval_mode"), message)


@rule(
    "approval_mode.not_in_taxonomy",
    Severity.BLOCK,
    title="An approval mode is not one of the five",
    why="Policies and gates only know the five modes; any other can't be enforced.",
    fix=f"Use one of {_MODES}, spelt exactly so.",
)
def approval_mode_not_in_taxonomy(manifest: Manifest) -> Iterator[Complaint]:
    for capability in manifest.capabilities:
        given = capability.raw.get("approval_mode")
        if given not in (None, "", *ApprovalMode) or isinstance(given, bool):
            message = f"{label(capability)} declares the mode {show(given)}, which does not exist."
            yield Complaint(capability.at("approval_mode"), message)


@rule(
    "approval_mode.contradicts_class",
    Severity.BLOCK,
    title="Class and approval mode contradict each other",
    why="An act can't be read-only and a read can't be destructive; one of the two is wrong, and "
    "the gateway relies on both.",
    fix="Correct the class or the mode so that they describe the same operation.",
)
def approval_mode_contradicts_class(manifest: Manifest) -> Iterator[Complaint]:
    for capability in manifest.capabilities:
        mode, kind = capability.approval_mode, capability.capability_class
        if mode and kind and not mode_fits_class(mode, kind):
            fitting = sorted(modes_allowed_for(kind), key=_rank)
            allowed = ", ".join(fitting)
            yield Complaint(
                capability.at("approval_mode"),
                f"{label(capability)} is of class {kind} and can't have the mode {mode}.",
                f"Use {allowed} with the class {kind}, or choose another class.",
            )


def _rank(mode: ApprovalMode) -> int:
    return mode.rank


@rule(
    "capability.class.missing",
    Severity.BLOCK,
    title="A capability has no class",
    why="The class says whether a call looks or changes; plans are checked against it.",
    fix=f"Declare `capability_class` as one of {_CLASSES}.",
)
def capability_class_missing(manifest: Manifest) -> Iterator[Complaint]:
    for capability in manifest.capabilities:
        if capability.capability_class is None:
            given = capability.raw.get("capability_class")
            said = "no class" if given in (None, "") else f"the class {show(given)}, unknown here"
            message = f"{label(capability)} declares {said}."
            yield Complaint(capability.at("capability_class"), message)


@rule(
    "capability.duplicate_id",
    Severity.BLOCK,
    title="Two capabilities share an id",
    why="Calls, permissions and records name a capability by its id alone.",
    fix="Give each capability an id of its own.",
)
def capability_duplicate_id(manifest: Manifest) -> Iterator[Complaint]:
    first: dict[str, Capability] = {}
    for capability in manifest.capabilities:
        name = capability.capability_id
        if name and first.setdefault(name, capability) is not capability:
            message = f"{show(name)} is already declared at position {first[name].index + 1}."
            yield Complaint(capability.at("capability_id"), message)


@rule(
    "capability.binding_missing",
    Severity.WARN,
    title="A capability names no tool",
    why="The gateway needs to know which tool, operation, skill or function to call.",
    fix="Name the tool in the protocol's own binding, such as `mcp_tool_name`.",
)
def capability_binding_missing(manifest: Manifest) -> Iterator[Complaint]:
    if manifest.protocol not in ("mcp", "openapi", "a2a", "function"):
        return
    for capability in manifest.capabilities:
        if not capability.tool_name:
            message = f"{label(capability)} names no tool to call."
            yield Complaint(capability.tool_pointer, message)


@rule(
    "capability.class_doubtful",
    Severity.WARN,
    title="A read has a name that promises a change",
    why="If the operation does change something, its class hides that from every later check.",
    fix="Confirm that the operation changes nothing, or declare it as class act.",
)
def capability_class_doubtful(manifest: Manifest) -> Iterator[Complaint]:
    for capability in manifest.capabilities:
        if capability.capability_class in (None, CapabilityClass.ACT) or capability.is_write:
            continue
        words = split_words(capability.capability_id.rpartition(".")[2])
        if words and words[0] in _CHANGING_VERBS:
            message = (
                f"{label(capability)} is of class {capability.capability_class}, "
                f"but its name says that it can {words[0]} something."
            )
            yield Complaint(capability.at("capability_class"), message)


@rule(
    "tool.shared_binding",
    Severity.WARN,
    title="One tool serves a read and a write",
    why="A tool that does both can be made to write through the capability that only reads.",
    fix="Bind the read and the write to tools of their own.",
)
def tool_shared_binding(manifest: Manifest) -> Iterator[Complaint]:
    writers = {item.tool_name: item for item in manifest.writes() if item.tool_name}
    for capability in manifest.capabilities:
        writer = writers.get(capability.tool_name)
        if writer is not None and not capability.is_write:
            message = f"{label(capability)} calls the same tool as the write {label(writer)}."
            yield Complaint(capability.tool_pointer, message)
