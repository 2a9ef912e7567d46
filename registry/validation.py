"""The only JSON Schema seam: jsonschema-rs decides, offline and in linear time.

Nothing is ever fetched: references are answered from the documents the caller passes, and from
nowhere else. Compiled validators are cached by the digest of everything that went into them.
"""

import hashlib
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import jsonschema
import jsonschema_rs
import orjson
import referencing.jsonschema
from jsonschema.protocols import Validator as MetaSchemaValidator
from referencing import Specification

from contextos.core.error_kinds import ErrorKind, ErrorSpec
from contextos.core.errors import coded_error, register
from contextos.core.json_pointer import join
from contextos.core.strict_json import dumps
from registry.schema_explain import (
    explain_instance,
    explain_pattern,
    explain_schema,
    keyword_of,
    name_of_type,
    show,
)
from registry.schema_refs import dangling_references, refers_outside
from registry.schema_tree import walk

DEFAULT_DIALECT = "2020-12"
MAX_DEPTH = 256  # the deciding library recurses; far beyond this it would overrun the stack
MAX_PROBLEMS = 50
_CACHE_SIZE = 2048

register(
    ErrorSpec(
        code="schema.invalid",
        kind=ErrorKind.VALIDATION,
        http_status=422,
        title="A JSON Schema can't be used",
        remediation="Correct the schema at the place the error names, and lint the manifest again.",
    )
)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a value or a schema, and the keyword that says so."""

    pointer: str
    message: str
    keyword: str


@dataclass(frozen=True, slots=True)
class Dialect:
    """One edition of JSON Schema, and what each library calls it."""

    name: str
    uri: str
    compiler: type[jsonschema_rs.Validator]
    meta: type[MetaSchemaValidator]
    specification: Specification[Any]


DIALECTS: Mapping[str, Dialect] = MappingProxyType(
    {
        dialect.name: dialect
        for dialect in (
            Dialect(
                "2020-12",
                "https://json-schema.org/draft/2020-12/schema",
                jsonschema_rs.Draft202012Validator,
                jsonschema.Draft202012Validator,
                referencing.jsonschema.DRAFT202012,
            ),
            Dialect(
                "2019-09",
                "https://json-schema.org/draft/2019-09/schema",
                jsonschema_rs.Draft201909Validator,
                jsonschema.Draft201909Validator,
                referencing.jsonschema.DRAFT201909,
            ),
            Dialect(
                "draft-07",
                "http://json-schema.org/draft-07/schema#",
                jsonschema_rs.Draft7Validator,
                jsonschema.Draft7Validator,
                referencing.jsonschema.DRAFT7,
            ),
            Dialect(
                "draft-06",
                "http://json-schema.org/draft-06/schema#",
                jsonschema_rs.Draft6Validator,
                jsonschema.Draft6Validator,
                referencing.jsonschema.DRAFT6,
            ),
            Dialect(
                "draft-04",
                "http://json-schema.org/draft-04/schema#",
                jsonschema_rs.Draft4Validator,
                jsonschema.Draft4Validator,
                referencing.jsonschema.DRAFT4,
            ),
        )
    }
)


def _spelling(uri: str) -> str:
    """Dialect names are written with http or https and with or without the empty fragment."""
    return uri.strip().removesuffix("#").removeprefix("https:").removeprefix("http:")


_DIALECT_BY_SPELLING = {_spelling(dialect.uri): dialect for dialect in DIALECTS.values()}


def dialect_of(schema: Any) -> Dialect | None:
    """The dialect a schema declares, 2020-12 if it declares none, None if it is not known."""
    declared = schema.get("$schema") if isinstance(schema, dict) else None
    if declared is None:
        return DIALECTS[DEFAULT_DIALECT]
    return _DIALECT_BY_SPELLING.get(_spelling(declared)) if isinstance(declared, str) else None


class SchemaDocuments(Mapping[str, Any]):
    """The documents references may lead to, with their digest taken once."""

    def __init__(self, documents: Mapping[str, Any] = MappingProxyType({})) -> None:
        self._documents = dict(documents)
        # The deciding library lower-cases the authority of a URI before it asks.
        self._by_asked_name = {_as_asked(uri): item for uri, item in self._documents.items()}

    def __getitem__(self, uri: str) -> Any:
        return self._documents[uri]

    def __iter__(self) -> Iterator[str]:
        return iter(self._documents)

    def __len__(self) -> int:
        return len(self._documents)

    def retrieve(self, uri: str) -> Any:
        """Answer the deciding library, from memory or not at all."""
        try:
            return self._by_asked_name[_as_asked(uri)]
        except KeyError:
            raise LookupError("only declared schema documents can be referred to") from None

    @cached_property
    def digest(self) -> bytes:
        """Stands for the whole set in cache keys."""
        return hashlib.sha256(_fingerprint(self._documents)).digest()


NO_DOCUMENTS = SchemaDocuments()


class Validator:
    """A compiled schema."""

    __slots__ = ("_inner",)

    def __init__(self, inner: jsonschema_rs.Validator) -> None:
        self._inner = inner

    def is_valid(self, instance: Any) -> bool:
        """Whether the value fits; what JSON can't express never does."""
        if _flaw(instance):
            return False
        try:
            return self._inner.is_valid(instance)
        except ValueError:  # a lone surrogate, or a type that JSON does not have
            return False

    def errors(self, instance: Any, *, mask: bool = False) -> tuple[Problem, ...]:
        """What is wrong with the value; with `mask`, messages name members but no values."""
        flaw = _flaw(instance)
        if flaw:
            return (Problem("", flaw, "json"),)
        try:
            found = [
                Problem(_place_of(error), explain_instance(error, mask=mask), keyword)
                for error, keyword in self._first_errors(instance)
            ]
        except ValueError:
            return (Problem("", "The value has no JSON form.", "json"),)
        return tuple(found)

    def _first_errors(self, instance: Any) -> Iterator[tuple[jsonschema_rs.ValidationError, str]]:
        for count, error in enumerate(self._inner.iter_errors(instance)):
            if count == MAX_PROBLEMS:
                return
            yield error, keyword_of(error)


def compile_schema(
    schema: Any,
    *,
    documents: Mapping[str, Any] = NO_DOCUMENTS,
    imported: bool = True,
    assert_formats: bool = True,
) -> Validator:
    """The validator for a schema, from the cache where possible; raises `schema.invalid`.

    `imported` schemas come from outside: their patterns must run in linear time, so look-around
    and back-references are refused. Only our own schemas may do without.
    """
    known = _as_documents(documents)
    key = _cache_key(schema, known, imported=imported, assert_formats=assert_formats)
    found = _cache.get(key)
    if found is None:
        inner = _compile(schema, known, imported=imported, assert_formats=assert_formats)
        if not isinstance(inner, jsonschema_rs.Validator):
            raise coded_error(
                "schema.invalid",
                message=inner.message,
                data={"pointer": inner.pointer, "keyword": inner.keyword},
            )
        found = Validator(inner)
        _cache.put(key, found)
    return found


def check_schema(
    schema: Any, *, documents: Mapping[str, Any] = NO_DOCUMENTS, imported: bool = True
) -> tuple[Problem, ...]:
    """Everything wrong with a schema. The cache is left alone: this is for untrusted bulk."""
    known = _as_documents(documents)
    outcome = _compile(schema, known, imported=imported, assert_formats=True)
    dangling = _dangling(schema, known)
    if isinstance(outcome, jsonschema_rs.Validator):
        return dangling
    if outcome.keyword == "$ref":
        return dangling or (outcome,)
    explained = _explained(schema, imported=imported)
    return (*(explained or (outcome,)), *dangling)


# -- compiling -----------------------------------------------------------------------------------


def _compile(
    schema: Any, documents: SchemaDocuments, *, imported: bool, assert_formats: bool
) -> jsonschema_rs.Validator | Problem:
    if not isinstance(schema, dict | bool):
        return Problem("", f"A schema is an object, not {name_of_type(schema)}.", "type")
    dialect = dialect_of(schema)
    compiler: Callable[..., jsonschema_rs.Validator] | None
    compiler = dialect.compiler if dialect else _custom_compiler(schema, documents)
    if compiler is None:
        return Problem("/$schema", "The schema declares a dialect that is not known.", "$schema")
    try:
        return compiler(
            schema,
            validate_formats=assert_formats,
            retriever=documents.retrieve,
            pattern_options=jsonschema_rs.RegexOptions() if imported else None,
        )
    except jsonschema_rs.ValidationError as error:
        return _refusal(error)
    except ValueError:  # the library's own limit on nesting
        return Problem("", "The schema is nested too deeply.", "json")


def _custom_compiler(
    schema: Any, documents: SchemaDocuments
) -> Callable[..., jsonschema_rs.Validator] | None:
    """A meta-schema of one's own counts only when it is among the documents."""
    declared = schema["$schema"]
    if not isinstance(declared, str) or declared.partition("#")[0] not in documents:
        return None
    return jsonschema_rs.validator_for


def _refusal(error: jsonschema_rs.ValidationError) -> Problem:
    if isinstance(error.kind, jsonschema_rs.ValidationErrorKind.Referencing):
        return Problem("", "A reference leads to no declared schema.", "$ref")
    return Problem(
        join(error.instance_path), explain_instance(error, mask=False), keyword_of(error)
    )


def _place_of(error: jsonschema_rs.ValidationError) -> str:
    """Where the fault is; for a missing member, where it would stand."""
    missing = getattr(error.kind, "property", None)
    return join(
        [*error.instance_path, missing] if isinstance(missing, str) else error.instance_path
    )


def _dangling(schema: Any, documents: SchemaDocuments) -> tuple[Problem, ...]:
    dialect = dialect_of(schema) or DIALECTS[DEFAULT_DIALECT]
    return tuple(
        Problem(pointer, f"The reference {show(ref)} leads to no declared schema.", "$ref")
        for pointer, ref in dangling_references(schema, documents, dialect.specification)
    )


def _explained(schema: Any, *, imported: bool) -> tuple[Problem, ...]:
    dialect = dialect_of(schema)
    if dialect is None or not isinstance(schema, dict):
        return ()
    faults = [Problem(at, text, "schema") for at, text in explain_schema(schema, dialect.meta)]
    faults.extend(_bad_patterns(schema, imported=imported))
    return tuple(faults[:MAX_PROBLEMS])


def _bad_patterns(schema: Any, *, imported: bool) -> Iterator[Problem]:
    for pointer, node in walk(schema):
        if not isinstance(node, dict):
            continue
        pattern = node.get("pattern")
        if isinstance(pattern, str) and not is_usable_pattern(pattern, imported=imported):
            yield Problem(f"{pointer}/pattern", explain_pattern(pattern), "pattern")
        named = node.get("patternProperties")
        for name in named if isinstance(named, dict) else ():
            if not is_usable_pattern(name, imported=imported):
                place = join(["patternProperties", name])
                yield Problem(f"{pointer}{place}", explain_pattern(name), "pattern")


def is_usable_pattern(pattern: str, *, imported: bool = True) -> bool:
    """Whether a regular expression can be run by the deciding library."""
    outcome = _compile({"pattern": pattern}, NO_DOCUMENTS, imported=imported, assert_formats=False)
    return isinstance(outcome, jsonschema_rs.Validator)


def matches_pattern(pattern: str, text: str) -> bool:
    """Whether an untrusted pattern matches somewhere in a text; one that can't be run does not."""
    outcome = _compile({"pattern": pattern}, NO_DOCUMENTS, imported=True, assert_formats=False)
    return isinstance(outcome, jsonschema_rs.Validator) and outcome.is_valid(text)


# -- what JSON can't express ---------------------------------------------------------------------


def _flaw(instance: Any) -> str:
    """Why a Python value must not reach the deciding library, or nothing.

    The library takes NaN for null and overruns the stack on extreme nesting. Level by level, so
    that depth is known without recursion.
    """
    level, depth = [instance], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            return f"The value is nested more than {MAX_DEPTH} levels deep."
        below: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                below.extend(value.values())
            elif isinstance(value, list | tuple):
                below.extend(value)
            elif isinstance(value, float) and not math.isfinite(value):
                return "NaN and infinity are not JSON numbers."
        level = below
    return ""


# -- cache ---------------------------------------------------------------------------------------


class _ValidatorCache:
    """A bounded least-recently-used map, safe to share between threads."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._entries: OrderedDict[bytes, Validator] = OrderedDict()

    def get(self, key: bytes) -> Validator | None:
        with self._lock:
            found = self._entries.get(key)
            if found is not None:
                self._entries.move_to_end(key)
            return found

    def put(self, key: bytes, validator: Validator) -> None:
        with self._lock:
            self._entries[key] = validator
            self._entries.move_to_end(key)
            while len(self._entries) > self._size:
                self._entries.popitem(last=False)

    def __len__(self) -> int:
        return len(self._entries)


_cache = _ValidatorCache(_CACHE_SIZE)


def _cache_key(
    schema: Any, documents: SchemaDocuments, *, imported: bool, assert_formats: bool
) -> bytes:
    digest = hashlib.sha256(_fingerprint(schema))
    digest.update(b"%d%d" % (imported, assert_formats))
    if len(documents) and (dialect_of(schema) is None or refers_outside(schema)):
        digest.update(documents.digest)
    return digest.digest()


def _fingerprint(value: Any) -> bytes:
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # an integer beyond 64 bits, nesting, or no JSON at all: which `dumps` says
        return dumps(value).encode()


def _as_documents(documents: Mapping[str, Any]) -> SchemaDocuments:
    return documents if isinstance(documents, SchemaDocuments) else SchemaDocuments(documents)


def _as_asked(uri: str) -> str:
    scheme, mark, rest = uri.partition("://")
    authority, slash, path = rest.partition("/")
    return f"{scheme}{mark}{authority.lower()}{slash}{path}"
