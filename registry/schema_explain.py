"""Says in plain English why a value or a schema was refused; it never decides anything.

Instances are explained from the deciding library's own errors: the Python library would run an
imported pattern through a backtracking engine. It only explains schemas, against the meta-schemas.
"""

import re
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
from jsonschema.exceptions import ValidationError as MetaSchemaError
from jsonschema.exceptions import best_match
from jsonschema.protocols import Validator as MetaSchemaValidator

from contextos.core.errors import ContextOSError
from contextos.core.json_pointer import join
from contextos.core.strict_json import dumps
from contextos.core.text import single_line

_LONGEST_VALUE = 60
_LOOK_AROUND = re.compile(r"\(\?(?:<?[=!])")
_BACK_REFERENCE = re.compile(r"\\[1-9]|\\k<")
_NAMES_BY_TYPE: tuple[tuple[type, str], ...] = (
    (bool, "a boolean"),
    (int, "a number"),
    (float, "a number"),
    (str, "a string"),
    (list, "an array"),
    (dict, "an object"),
)


def show(value: object, *, limit: int = _LONGEST_VALUE) -> str:
    """A value as short, safe text: on one line, with nothing invisible in it."""
    if isinstance(value, list | dict) and len(value) > limit:
        return name_of_type(value)
    try:
        text = dumps(value)
    except ContextOSError:
        return name_of_type(value)
    return single_line(text, limit=limit)


def name_of_type(value: object) -> str:
    """What a JSON value is, in words."""
    return next((name for kind, name in _NAMES_BY_TYPE if isinstance(value, kind)), "null")


def explain_instance(error: jsonschema_rs.ValidationError, *, mask: bool) -> str:
    """One sentence about a value that does not fit its schema."""
    kind = error.kind
    value = "The value" if mask else show(error.instance)
    match kind:
        case jsonschema_rs.ValidationErrorKind.Required():
            return f"The member {show(kind.property)} is missing."
        case jsonschema_rs.ValidationErrorKind.AdditionalProperties():
            return f"These members are not allowed here: {_listed(kind.unexpected)}."
        case jsonschema_rs.ValidationErrorKind.UnevaluatedProperties():
            return f"These members are not allowed here: {_listed(kind.unexpected)}."
        case jsonschema_rs.ValidationErrorKind.Type():
            return f"Expected {' or '.join(kind.types)}, found {name_of_type(error.instance)}."
        case jsonschema_rs.ValidationErrorKind.Enum():
            return f"{value} is not one of {_listed(kind.options)}."
        case jsonschema_rs.ValidationErrorKind.Constant():
            return f"{value} is not {show(kind.expected_value)}."
        case jsonschema_rs.ValidationErrorKind.Pattern():
            return f"{value} does not match the pattern {show(kind.pattern)}."
        case jsonschema_rs.ValidationErrorKind.Format():
            return f"{value} is not of the format {show(kind.format)}."
    return _explain_by_keyword(error, value)


def _explain_by_keyword(error: jsonschema_rs.ValidationError, value: str) -> str:
    sentences = {
        "minimum": "{value} is less than {limit}.",
        "maximum": "{value} is greater than {limit}.",
        "exclusiveMinimum": "{value} is not greater than {limit}.",
        "exclusiveMaximum": "{value} is not less than {limit}.",
        "minLength": "{value} is shorter than {limit} characters.",
        "maxLength": "{value} is longer than {limit} characters.",
        "minItems": "The array has fewer than {limit} items.",
        "maxItems": "The array has more than {limit} items.",
        "minProperties": "The object has fewer than {limit} members.",
        "maxProperties": "The object has more than {limit} members.",
        "uniqueItems": "The array holds the same item twice.",
        "multipleOf": "{value} is not a multiple of the number the schema asks for.",
        "anyOf": "{value} fits none of the alternatives the schema allows.",
        "oneOf": "{value} must fit exactly one of the alternatives the schema allows.",
        "not": "{value} is of a form the schema forbids.",
        "false schema": "The schema allows no value here.",
    }
    keyword = keyword_of(error)
    sentence = sentences.get(keyword, "{value} does not satisfy the keyword `{keyword}`.")
    limit = show(getattr(error.kind, "limit", ""))
    return sentence.format(value=value, limit=limit, keyword=keyword)


def keyword_of(error: jsonschema_rs.ValidationError) -> str:
    """The schema keyword that said no."""
    name = getattr(error.kind, "name", "")
    return "false schema" if name in ("falseSchema", "false schema") else str(name)


def explain_schema(schema: Any, validator: type[MetaSchemaValidator]) -> Iterator[tuple[str, str]]:
    """Pointer and sentence for each fault that the dialect's meta-schema finds in a schema."""
    try:
        # The iterator is drained here so that a schema too deep for Python can't surprise callers.
        errors = list(validator(validator.META_SCHEMA).iter_errors(schema))
    except RecursionError:
        return
    seen: set[str] = set()
    for error in errors:
        leaf = best_match([error]) or error
        pointer = join(list(leaf.absolute_path))
        if pointer not in seen:  # a meta-schema refuses one fault once per vocabulary
            seen.add(pointer)
            yield pointer, _meta_sentence(leaf)


def _meta_sentence(error: MetaSchemaError) -> str:
    name = str(error.absolute_path[-1]) if error.absolute_path else "schema"
    match error.validator:
        case "anyOf" if name == "type":
            return f"{show(error.instance)} is not a JSON type."
        case "type":
            wanted = error.validator_value
            listed = " or ".join(wanted) if isinstance(wanted, list) else str(wanted)
            return f"`{name}` must be {listed}, found {name_of_type(error.instance)}."
        case "enum":
            return f"{show(error.instance)} is not one of {_listed(error.validator_value)}."
    return single_line(f"`{name}` is not valid here: {error.message}.", limit=200)


def explain_pattern(pattern: str) -> str:
    """Why a pattern can't be used."""
    if _LOOK_AROUND.search(pattern) or _BACK_REFERENCE.search(pattern):
        return (
            f"The pattern {show(pattern)} uses look-around or a back-reference, "
            "which can't be matched in bounded time."
        )
    return f"The pattern {show(pattern)} is not a regular expression, or is too large to run."


def _listed(items: Any) -> str:
    shown = [show(item) for item in list(items)[:6]]
    return ", ".join([*shown, "…"] if len(items) > len(shown) else shown)
