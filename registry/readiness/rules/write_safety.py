"""What a capability that changes something must promise: keys, closed inputs, a gate."""

from collections.abc import Iterator

from contextos.core.modes import ApprovalMode
from registry.manifest import Capability, Manifest
from registry.manifest.access import is_true, mapping, positive_number, text
from registry.readiness.catalogue import rule
from registry.readiness.findings import Complaint, Severity
from registry.readiness.schema_openness import Opening, OpenPlace, openings
from registry.readiness.schema_reader import SchemaReader, reader_for
from registry.readiness.words import label


@rule(
    "write.idempotency.missing",
    Severity.BLOCK,
    title="A write does not require an idempotency key",
    why="Without a key, a retry after a lost answer can execute the same effect twice.",
    fix='Declare `"idempotency": {"required": true, "dedup_window_seconds": ...}`.',
)
def write_idempotency_missing(manifest: Manifest) -> Iterator[Complaint]:
    for capability in manifest.writes():
        if not _requires_key(capability):
            message = f"{label(capability)} changes something but requires no idempotency key."
            yield Complaint(capability.at("idempotency"), message)


def _requires_key(capability: Capability) -> bool:
    return is_true(mapping(capability.raw, "idempotency"), "required")


@rule(
    "write.adapter_dedup_undeclared",
    Severity.WARN,
    title="The adapter does not promise to recognise repeated keys",
    why="The gateway drops repeats it sees; only the adapter can drop one that arrives after a "
    "crash in between.",
    fix='Make the adapter remember keys, then declare `"adapter_dedup": true`.',
)
def write_adapter_dedup_undeclared(manifest: Manifest) -> Iterator[Complaint]:
    for capability in manifest.writes():
        if _requires_key(capability) and not is_true(
            mapping(capability.raw, "idempotency"), "adapter_dedup"
        ):
            message = f"{label(capability)} does not say that the adapter recognises repeated keys."
            yield Complaint(capability.at("idempotency", "adapter_dedup"), message)


@rule(
    "write.dedup_window_missing",
    Severity.WARN,
    title="No dedup window is declared",
    why="Nobody can tell how long a key protects against a second effect.",
    fix="Declare `dedup_window_seconds`, such as 86400 for a day.",
)
def write_dedup_window_missing(manifest: Manifest) -> Iterator[Complaint]:
    for capability in manifest.writes():
        if _requires_key(capability) and not positive_number(
            mapping(capability.raw, "idempotency"), "dedup_window_seconds"
        ):
            message = f"{label(capability)} does not say how long an idempotency key is remembered."
            yield Complaint(capability.at("idempotency", "dedup_window_seconds"), message)


@rule(
    "write.freeform_payload",
    Severity.BLOCK,
    title="A write accepts data that nobody described",
    why="Whatever the schema does not describe is neither checked nor shown to an approver, yet it "
    "reaches the tool.",
    fix="Declare every member with its type and close the object with "
    '`"additionalProperties": false`.',
)
def write_freeform_payload(manifest: Manifest) -> Iterator[Complaint]:
    reader = reader_for(manifest)
    for capability in manifest.writes():
        if not _declares_input(capability):
            message = f"{label(capability)} changes something but has no input schema."
            remedy = "Describe the arguments in a JSON Schema and name it in `input_schema_ref`."
            yield Complaint(capability.at("input_schema_ref"), message, remedy)
        for opening in _openings_of(reader, capability):
            if opening.opening is not Opening.MAP:
                message = f"The input of {label(capability)} {opening.opening} {_where(opening)}."
                yield Complaint(opening.place.pointer, message)


def _declares_input(capability: Capability) -> bool:
    return bool(capability.schema_ref("input")) or capability.raw.get("input_schema") is not None


def _openings_of(reader: SchemaReader, capability: Capability) -> Iterator[OpenPlace]:
    root = reader.schema_of(capability, "input")
    return openings(reader, root) if root is not None else iter(())


def _where(opening: OpenPlace) -> str:
    return "at its top level" if not opening.place.path else f"at {opening.place.path[:120]}"


@rule(
    "write.open_map",
    Severity.WARN,
    title="A write accepts a map with free keys",
    why="The values are described but the keys are not: whoever calls can invent them.",
    fix="List the keys you know as members, or limit them with `propertyNames`.",
)
def write_open_map(manifest: Manifest) -> Iterator[Complaint]:
    reader = reader_for(manifest)
    for capability in manifest.writes():
        for opening in _openings_of(reader, capability):
            if opening.opening is Opening.MAP:
                message = f"The input of {label(capability)} {opening.opening} {_where(opening)}."
                yield Complaint(opening.place.pointer, message)


@rule(
    "gate.missing_for_destructive",
    Severity.WARN,
    title="A destructive capability names no approval gate",
    why="Destructive calls run only through a gate; without one in the manifest each call depends "
    "on policy to name it.",
    fix="Name the gate in `requires_approval_gate`.",
)
def gate_missing_for_destructive(manifest: Manifest) -> Iterator[Complaint]:
    for capability in manifest.capabilities:
        gate = text(capability.raw, "requires_approval_gate")
        if capability.approval_mode is ApprovalMode.DESTRUCTIVE and not gate:
            message = f"{label(capability)} is destructive and names no approval gate."
            yield Complaint(capability.at("requires_approval_gate"), message)
