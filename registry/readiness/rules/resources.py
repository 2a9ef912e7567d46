"""Resources and templates: classified, described, and limited to what they should reach."""

import re
from collections.abc import Iterator

from registry.manifest import Manifest
from registry.manifest.access import JSONObject, mapping, text
from registry.manifest.origins import member
from registry.readiness.catalogue import rule
from registry.readiness.findings import Complaint, Severity
from registry.readiness.words import show
from registry.validation import is_usable_pattern, matches_pattern

_CLASSIFICATIONS = ("PUBLIC", "INTERNAL", "CONFIDENTIAL", "RESTRICTED")
_METADATA = ("mimeType", "size_bytes", "source", "freshness", "access", "evidence_ref")
_TEMPLATE_METADATA = ("classification", "mimeType", "source", "freshness", "access", "evidence_ref")
_EXPRESSION = re.compile(r"\{([^{}]*)\}")
# What a pattern that means to limit anything refuses at least one of.
_PROBES = ("../../etc/passwd", "a b/c?d=e#f", "日本語", "A" * 300, "\u202e;rm -rf")


def _name(item: JSONObject) -> str:
    return show(text(item, "name") or text(item, "uri") or text(item, "uri_template") or "unnamed")


@rule(
    "resource.classification.missing",
    Severity.BLOCK,
    title="A resource is not classified",
    why="Who may read it, and where it may travel, depends on its classification.",
    fix=f"Declare `classification` as one of {', '.join(_CLASSIFICATIONS)}.",
)
def resource_classification_missing(manifest: Manifest) -> Iterator[Complaint]:
    for pointer, item in manifest.parts("resources"):
        given = item.get("classification")
        if not isinstance(given, str) or given.strip().upper() not in _CLASSIFICATIONS:
            said = (
                "is not classified" if not given else f"has the class {show(given)}, unknown here"
            )
            yield Complaint(member(pointer, "classification"), f"Resource {_name(item)} {said}.")


@rule(
    "resource.metadata_missing",
    Severity.WARN,
    title="A resource is not fully described",
    why="Type, size, source, freshness and identity are what make a resource usable as evidence.",
    fix="Add the members that are missing.",
)
def resource_metadata_missing(manifest: Manifest) -> Iterator[Complaint]:
    for list_name, wanted in (("resources", _METADATA), ("resource_templates", _TEMPLATE_METADATA)):
        for pointer, item in manifest.parts(list_name):
            missing = [name for name in wanted if item.get(name) in (None, "", {}, [])]
            if missing:
                message = f"{_name(item)} does not declare {', '.join(missing)}."
                yield Complaint(pointer, message)


@rule(
    "resource_template.unconstrained",
    Severity.BLOCK,
    title="A resource template takes any value",
    why="A template such as file:///{path} reaches everything unless its parameters are limited.",
    fix="Limit each parameter with a `pattern` or an `enum` in `parameter_constraints`.",
)
def resource_template_unconstrained(manifest: Manifest) -> Iterator[Complaint]:
    for pointer, item in _templates(manifest):
        constraints = mapping(item, "parameter_constraints")
        for name in _parameters(text(item, "uri_template") or text(item, "uri")):
            if not _limits(mapping(constraints, name)):
                message = f"The template {_name(item)} takes any value for {show(name)}."
                yield Complaint(member(pointer, "parameter_constraints", name), message)


def _templates(manifest: Manifest) -> Iterator[tuple[str, JSONObject]]:
    """Templates by that name, and resources whose address is one."""
    yield from manifest.parts("resource_templates")
    yield from manifest.parts("resources")


def _parameters(template: str) -> Iterator[str]:
    """The variables of a URI template (RFC 6570), each once."""
    seen: dict[str, None] = {}
    for expression in _EXPRESSION.findall(template):
        for variable in expression.lstrip("+#./;?&").split(","):
            seen[variable.partition(":")[0].rstrip("*").strip()] = None
    return iter(name for name in seen if name)


def _limits(constraint: JSONObject) -> bool:
    values, pattern = constraint.get("enum"), text(constraint, "pattern")
    if isinstance(values, list) and values:
        return True
    if not pattern or not is_usable_pattern(pattern):
        return False
    return not all(matches_pattern(pattern, probe) for probe in _PROBES)


@rule(
    "resource_template.pattern_unanchored",
    Severity.WARN,
    title="A template's pattern matches anywhere in a value",
    why="Without ^ and $ a pattern only asks that something in the value fits, so ../ may stand "
    "beside it.",
    fix="Begin the pattern with ^ and end it with $.",
)
def resource_template_pattern_unanchored(manifest: Manifest) -> Iterator[Complaint]:
    for pointer, item in manifest.parts("resource_templates"):
        for name, constraint in mapping(item, "parameter_constraints").items():
            pattern = text(constraint, "pattern") if isinstance(constraint, dict) else ""
            if pattern and not (pattern.startswith("^") and pattern.endswith("$")):
                message = f"The pattern for {show(name)} is not anchored at both ends."
                yield Complaint(member(pointer, "parameter_constraints", name, "pattern"), message)


@rule(
    "prompt.version_missing",
    Severity.WARN,
    title="A prompt has no version",
    why="Prompts are reviewed and evaluated like code; that needs a version to refer to.",
    fix="Give the prompt a `version`.",
)
def prompt_version_missing(manifest: Manifest) -> Iterator[Complaint]:
    for pointer, item in manifest.parts("prompts"):
        if not text(item, "version"):
            yield Complaint(member(pointer, "version"), f"Prompt {_name(item)} has no version.")
