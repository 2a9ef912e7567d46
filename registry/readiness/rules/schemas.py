"""The JSON Schemas of the manifest: present, valid, resolvable, of a declared dialect."""

from collections.abc import Iterator, Mapping
from typing import Any

from registry.manifest import Capability, Manifest
from registry.manifest.access import text
from registry.manifest.origins import member
from registry.readiness.catalogue import rule
from registry.readiness.findings import Complaint, Severity
from registry.readiness.schema_reader import reader_for
from registry.readiness.words import label, show
from registry.schema_tree import walk
from registry.validation import DEFAULT_DIALECT, Problem, dialect_of

_SIDES = ("input", "output")
_DIALECT_URI = "https://json-schema.org/draft/2020-12/schema"
# Keywords of older dialects that 2020-12 ignores without a word.
_DROPPED_KEYWORDS = {
    "dependencies": "`dependentRequired` or `dependentSchemas`",
    "additionalItems": "`items` beside `prefixItems`",
    "$recursiveRef": "`$dynamicRef`",
}
# Forms that 2020-12 no longer takes: the bounds of draft-04, the tuples before 2020-12.
_OLDER_FORMS: Mapping[str, type] = {
    "exclusiveMinimum": bool,
    "exclusiveMaximum": bool,
    "items": list,
}


@rule(
    "schema.invalid",
    Severity.BLOCK,
    title="A JSON Schema can't be used",
    why="The gateway checks every call against these schemas; one that can't be compiled would "
    "check nothing.",
    fix="Correct the schema at the place named.",
)
def schema_invalid(manifest: Manifest) -> Iterator[Complaint]:
    for pointer, problem in manifest.schema_problems:
        if problem.keyword != "$ref":
            yield Complaint(pointer + problem.pointer, problem.message, _remedy(problem))
    yield from _inputs_that_take_no_object(manifest)


def _remedy(problem: Problem) -> str:
    if problem.keyword == "$schema":
        return f"Declare a dialect that is supported; the default is {_DIALECT_URI}."
    if problem.keyword == "pattern":
        return "Rewrite the pattern without look-around and back-references, or list the values."
    return ""


def _inputs_that_take_no_object(manifest: Manifest) -> Iterator[Complaint]:
    reader = reader_for(manifest)
    for capability in manifest.capabilities:
        root = reader.schema_of(capability, "input")
        if root is None:
            continue
        reader.start()
        declared = [value for _, value in reader.meaning(root).values("type")]
        if declared and all(not _allows_object(value) for value in declared):
            message = f"Arguments are an object, but the input of {label(capability)} takes none."
            yield Complaint(member(root.pointer, "type"), message, 'Declare `"type": "object"`.')


def _allows_object(declared: Any) -> bool:
    return "object" in (declared if isinstance(declared, list) else [declared])


@rule(
    "schema.unresolved_ref",
    Severity.BLOCK,
    title="A schema reference leads nowhere",
    why="References are answered from the manifest's own `schemas` and never fetched, so that what "
    "was reviewed is what is enforced.",
    fix="Add the schema under that name to `schemas`, or correct the reference.",
)
def schema_unresolved_ref(manifest: Manifest) -> Iterator[Complaint]:
    for capability in manifest.capabilities:
        for side in _SIDES:
            ref = capability.schema_ref(side)
            if ref and ref not in manifest.schemas:
                message = f"{label(capability)} refers to {show(ref)}, which is not in `schemas`."
                yield Complaint(capability.at(f"{side}_schema_ref"), message)
    for pointer, problem in manifest.schema_problems:
        if problem.keyword == "$ref":
            yield Complaint(pointer + problem.pointer, problem.message)


@rule(
    "schema.dialect.undeclared",
    Severity.BLOCK,
    title="A schema uses another dialect without saying why",
    why="2020-12 is what everyone reads by default; the same keywords mean other things in older "
    "dialects.",
    fix="Move the schema to 2020-12, or say in `schema_dialect_notes` why it can't be moved.",
)
def schema_dialect_undeclared(manifest: Manifest) -> Iterator[Complaint]:
    if text(manifest.document, "schema_dialect_notes"):
        return
    for pointer, schema in manifest.schema_documents():
        dialect = dialect_of(schema)
        if dialect is None or dialect.name != DEFAULT_DIALECT:
            message = f"The schema declares the dialect {show(schema['$schema'])}."
            yield Complaint(member(pointer, "$schema"), message)
        elif not _names_a_dialect(schema):
            yield from _older_spellings(pointer, schema)


def _names_a_dialect(schema: Any) -> bool:
    return isinstance(schema, dict) and "$schema" in schema


def _older_spellings(pointer: str, schema: Any) -> Iterator[Complaint]:
    """Forms that only older dialects know, in a schema that names none."""
    for place, node in walk(schema):
        for keyword, older_type in _OLDER_FORMS.items() if isinstance(node, dict) else ():
            if isinstance(node.get(keyword), older_type):
                message = f"`{keyword}` is written as in an older dialect, and none is declared."
                remedy = "Write it as 2020-12 does, or declare the dialect in `$schema` and say "
                remedy += "why in `schema_dialect_notes`."
                yield Complaint(member(pointer + place, keyword), message, remedy)


@rule(
    "schema.keyword_without_effect",
    Severity.WARN,
    title="A keyword of an older dialect has no effect",
    why="2020-12 ignores keywords it dropped, so a check the author relied on is not made.",
    fix="Use the keyword's successor.",
)
def schema_keyword_without_effect(manifest: Manifest) -> Iterator[Complaint]:
    for pointer, schema in manifest.schema_documents():
        dialect = dialect_of(schema)
        if dialect is None or dialect.name != DEFAULT_DIALECT:
            continue
        for place, node in walk(schema):
            for keyword in node.keys() & _DROPPED_KEYWORDS.keys() if isinstance(node, dict) else ():
                yield Complaint(
                    member(pointer + place, keyword),
                    f"`{keyword}` has no effect in JSON Schema 2020-12.",
                    f"Use {_DROPPED_KEYWORDS[keyword]}.",
                )


@rule(
    "output_schema.missing_for_decision",
    Severity.BLOCK,
    title="A result that feeds a decision has no output schema",
    why="Decisions may only rest on fields that are checked, never on prose.",
    fix="Describe the result in a JSON Schema and name it in `output_schema_ref`.",
)
def output_schema_missing_for_decision(manifest: Manifest) -> Iterator[Complaint]:
    for capability in manifest.capabilities:
        if capability.raw.get("decision_bindings") and not _declares(capability, "output"):
            message = f"{label(capability)} feeds a decision but describes no output."
            yield Complaint(capability.at("output_schema_ref"), message)


@rule(
    "schema.input_missing",
    Severity.WARN,
    title="A read has no input schema",
    why="Arguments that nobody described can't be checked.",
    fix="Describe the arguments in a JSON Schema and name it in `input_schema_ref`.",
)
def schema_input_missing(manifest: Manifest) -> Iterator[Complaint]:
    for capability in manifest.capabilities:
        if not capability.is_write and not _declares(capability, "input"):
            message = f"{label(capability)} describes no arguments."
            yield Complaint(capability.at("input_schema_ref"), message)


@rule(
    "schema.output_missing",
    Severity.WARN,
    title="A capability has no output schema",
    why="A result that nobody described can't be checked and is weak evidence.",
    fix="Describe the result in a JSON Schema and name it in `output_schema_ref`.",
)
def schema_output_missing(manifest: Manifest) -> Iterator[Complaint]:
    for capability in manifest.capabilities:
        if not capability.raw.get("decision_bindings") and not _declares(capability, "output"):
            message = f"{label(capability)} describes no result."
            yield Complaint(capability.at("output_schema_ref"), message)


@rule(
    "schema.two_sources",
    Severity.WARN,
    title="A schema is given twice, and differently",
    why="The reference is used and the inline schema is ignored, which its author may not expect.",
    fix="Keep either the reference or the inline schema.",
)
def schema_two_sources(manifest: Manifest) -> Iterator[Complaint]:
    for capability in manifest.capabilities:
        for side in _SIDES:
            if capability.schema_ref(side) and capability.raw.get(f"{side}_schema") is not None:
                message = f"{label(capability)} has an inline {side} schema and another reference."
                yield Complaint(capability.at(f"{side}_schema"), message)


def _declares(capability: Capability, side: str) -> bool:
    inline = capability.raw.get(f"{side}_schema")
    return bool(capability.schema_ref(side)) or inline is not None
