"""The manifest as a document: what must be there, what is of the wrong shape, what is unknown."""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from registry.manifest import Manifest
from registry.manifest.access import text
from registry.manifest.origins import member
from registry.manifest.published_schema import (
    manifest_schema,
    manifest_validator,
    unknown_members,
)
from registry.readiness.catalogue import rule
from registry.readiness.findings import Complaint, Severity
from registry.readiness.words import show
from registry.schema_explain import name_of_type

_REQUIRED_TEXTS = ("adapter_id", "name", "owner_role", "protocol", "protocol_version")
_CAPABILITY_ID = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+")


@rule(
    "manifest.field_missing",
    Severity.BLOCK,
    title="A required member is missing",
    why="The manifest is what gets reviewed and pinned, so it must say who owns the adapter, how "
    "it is reached, how it authenticates and what it can do.",
    fix="Add the member with a value of the right kind.",
)
def field_missing(manifest: Manifest) -> Iterator[Complaint]:
    document = manifest.document
    for name in _REQUIRED_TEXTS:
        yield from _text_missing(document, name, "")
    for name, inner in (("transport", "kind"), ("auth", "type")):
        if isinstance(document.get(name), dict):
            yield from _text_missing(document[name], inner, f"/{name}")
        else:
            yield Complaint(f"/{name}", _absence(name, document.get(name), "an object"))
    yield from _capabilities_missing(manifest)


def _text_missing(owner: Any, name: str, pointer: str) -> Iterator[Complaint]:
    if not text(owner, name):
        yield Complaint(member(pointer, name), _absence(name, owner.get(name), "a text"))


def _absence(name: str, value: Any, wanted: str) -> str:
    if value is None:
        return f"`{name}` is missing."
    if value == "" or (isinstance(value, str) and not value.strip()):
        return f"`{name}` is empty."
    return f"`{name}` must be {wanted}, not {name_of_type(value)}."


def _capabilities_missing(manifest: Manifest) -> Iterator[Complaint]:
    listed = manifest.document.get("capabilities")
    if not isinstance(listed, list):
        yield Complaint("/capabilities", _absence("capabilities", listed, "an array"))
        return
    if not listed and not _offers_something_else(manifest):
        yield Complaint("/capabilities", "The manifest declares nothing that could be used.")
    for index, item in enumerate(listed):
        if not isinstance(item, dict):
            place = member("/capabilities", index)
            yield Complaint(place, f"A capability must be an object; this is {show(item)}.")
    for capability in manifest.capabilities:
        yield from _identity_missing(capability.raw, capability.at("capability_id"))


def _offers_something_else(manifest: Manifest) -> bool:
    return any(
        next(manifest.parts(name), None) for name in ("resources", "resource_templates", "prompts")
    )


def _identity_missing(raw: Any, pointer: str) -> Iterator[Complaint]:
    given = raw.get("capability_id")
    if not text(raw, "capability_id"):
        yield Complaint(pointer, _absence("capability_id", given, "a text"))
    elif not _CAPABILITY_ID.fullmatch(given):
        yield Complaint(
            pointer,
            f"{show(given)} can't be used as a capability id.",
            "Write a domain, a dot and an operation in lower case: payments.issue_refund.",
        )


@rule(
    "owner.missing",
    Severity.BLOCK,
    title="Nobody owns the adapter",
    why="Someone must answer for the adapter when it fails or misbehaves.",
    fix="Name the owning role in `owner_role`.",
)
def owner_missing(manifest: Manifest) -> Iterator[Complaint]:
    if manifest.owner_role:
        return
    orphans = [item for item in manifest.capabilities if not text(item.raw, "owner_role")]
    if orphans or not manifest.capabilities:
        yield Complaint("/owner_role", "No role is named as the owner of this adapter.")


@rule(
    "manifest.field_malformed",
    Severity.WARN,
    title="A member is not of the shape the contract gives it",
    why="A value of the wrong kind is ignored at run time, which is rarely what its author meant.",
    fix="Write the value as the manifest's published schema describes it.",
)
def field_malformed(manifest: Manifest) -> Iterator[Complaint]:
    for problem in manifest_validator().errors(manifest.document):
        yield Complaint(problem.pointer, problem.message)


@rule(
    "manifest.member_unknown",
    Severity.INFO,
    title="A member is not part of the contract",
    why="Members nobody knows have no effect; a misspelt one silently does nothing.",
    fix="Remove the member, or correct its spelling.",
)
def member_unknown(manifest: Manifest) -> Iterator[Complaint]:
    for pointer, name in unknown_members(manifest.document):
        near = get_close_matches(name[:100], _known_names(), n=1, cutoff=0.8)
        hint = f" Did you mean `{near[0]}`?" if near and near[0] != name else ""
        yield Complaint(pointer, f"The member {show(name)} is not known and has no effect.{hint}")


def _known_names() -> list[str]:
    schema = manifest_schema()
    names: dict[str, None] = dict.fromkeys(schema["properties"])
    for part in schema["$defs"].values():
        names.update(dict.fromkeys(part.get("properties", ())))
    return list(names)
