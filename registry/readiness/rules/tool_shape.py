"""Tools that are too wide: a whole API behind one name, or a read and a write behind one name."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from registry.manifest import Capability, Manifest
from registry.manifest.access import mapping
from registry.readiness.catalogue import rule
from registry.readiness.findings import Complaint, Severity
from registry.readiness.schema_openness import Opening, openings
from registry.readiness.schema_reader import Meaning, SchemaReader, reader_for
from registry.readiness.words import label, show, split_words

_METHOD_NAMES = frozenset({"method", "http_method", "verb", "http_verb", "request_method"})
_PATH_NAMES = frozenset({"path", "endpoint", "route", "request_path", "api_path", "resource_path"})
_URL_NAMES = frozenset({"url", "uri", "href", "request_url", "target_url"})
# A whole query language: `query` is none, people search with plain words in it.
_LANGUAGE_NAMES = frozenset({"sql", "sql_query", "sql_statement", "raw_sql", "graphql", "cypher"})
_BODY_NAMES = frozenset(
    {"payload", "body", "data", "params", "parameters", "headers", "query", "json", "request_body"}
)
_READ_METHODS = frozenset({"get", "head", "options"})
_WRITE_METHODS = frozenset({"post", "put", "patch", "delete"})
_HTTP_METHODS = _READ_METHODS | _WRITE_METHODS | {"trace", "connect"}

_REQUEST_NOUNS = frozenset({"api", "endpoint", "generic", "graphql", "http", "raw", "rest", "rpc"})
_REQUEST_VERBS = frozenset({"call", "execute", "invoke", "proxy", "query", "request", "send"})

_CHOICE_NAMES = frozenset(
    {
        "action",
        "activity",
        "cmd",
        "command",
        "http_method",
        "http_verb",
        "method",
        "mode",
        "op",
        "operation",
        "request_method",
        "task",
        "verb",
    }
)
_READ_VERBS = frozenset(
    {
        "describe",
        "fetch",
        "find",
        "get",
        "head",
        "list",
        "lookup",
        "query",
        "read",
        "retrieve",
        "search",
        "show",
        "status",
        "view",
    }
)
_WRITE_VERBS = frozenset(
    {
        "add",
        "append",
        "approve",
        "archive",
        "assign",
        "book",
        "cancel",
        "capture",
        "charge",
        "close",
        "create",
        "delete",
        "destroy",
        "disable",
        "drop",
        "edit",
        "enable",
        "grant",
        "insert",
        "issue",
        "merge",
        "modify",
        "move",
        "overwrite",
        "patch",
        "pay",
        "post",
        "publish",
        "purge",
        "put",
        "refund",
        "reject",
        "remove",
        "rename",
        "replace",
        "reset",
        "restart",
        "revoke",
        "save",
        "send",
        "set",
        "start",
        "stop",
        "submit",
        "transfer",
        "update",
        "upload",
        "upsert",
        "void",
        "write",
    }
)
# A read that takes one of these as a yes-or-no switch is a write when the switch is on.
_WRITE_SWITCHES = frozenset(
    {
        "apply",
        "cancel",
        "commit",
        "create",
        "delete",
        "dry_run",
        "modify",
        "mutate",
        "overwrite",
        "persist",
        "remove",
        "save",
        "update",
        "upsert",
        "write",
    }
)
_JOINERS = frozenset({"and", "or", "then"})


@rule(
    "tool.generic_request",
    Severity.BLOCK,
    title="One tool can make any request",
    why="A tool that takes a method and a path, or a statement of a query language, is the whole "
    "system: nothing narrower can be allowed, denied or approved.",
    fix="Expose the few operations the workflow needs, each as a capability with its own schema.",
)
def tool_generic_request(manifest: Manifest) -> Iterator[Complaint]:
    reader = reader_for(manifest)
    for capability in manifest.capabilities:
        name = _request_name(manifest, capability)
        if name:
            message = f"{show(name)} is the name of a tool that can make any request."
            yield Complaint(capability.at("capability_id"), message)
            continue
        root = reader.schema_of(capability, "input")
        shapes = (_RequestShape(reader, capability, item) for item in _objects(reader, root))
        found = next((shape for shape in shapes if shape.is_generic()), None)
        if found is not None:
            message = f"{label(capability)} {found.describe()}, so it can make any request."
            yield Complaint(found.meaning.place.pointer, message)


def _objects(reader: SchemaReader, root: Any) -> Iterator[Meaning]:
    return reader.objects(root) if root is not None else iter(())


def _request_name(manifest: Manifest, capability: Capability) -> str:
    operation = capability.capability_id.rpartition(".")[2]
    tool = capability.tool_name if manifest.protocol in ("mcp", "a2a") else ""
    for name in (operation, capability.capability_id, tool):
        words = frozenset(split_words(name))
        if words <= _REQUEST_NOUNS | _REQUEST_VERBS and (
            words & _REQUEST_NOUNS and words & _REQUEST_VERBS
        ):
            return name
    return ""


class _RequestShape:
    """Looks at one object of an input for the members that make up a request."""

    def __init__(self, reader: SchemaReader, capability: Capability, meaning: Meaning) -> None:
        self.meaning = meaning
        self._reader = reader
        self._constraints = mapping(capability.raw, "arg_constraints")
        self._by_key = {_key(name): name for name in meaning.property_names()}

    def is_generic(self) -> bool:
        return bool(self._taken())

    def describe(self) -> str:
        return f"takes {self._taken()}"

    def _taken(self) -> str:
        return (
            self._method_and_path()
            or self._graphql()
            or self._remote_procedure()
            or self._statement()
        )

    def _method_and_path(self) -> str:
        method = self._first(_METHOD_NAMES, self._is_http_method)
        path = self._first(_PATH_NAMES, self._is_free_text)
        url = self._first(_URL_NAMES, self._is_free_text)
        if method and path:
            return f"a free {show(path)} with {show(method)}"
        if method and url and self._by_key.keys() & _BODY_NAMES:
            return f"a free {show(url)} with {show(method)} and a body"
        if method and url and not self._only_reads(method):
            return f"a free {show(url)} with {show(method)}"
        return ""

    def _only_reads(self, method: str) -> bool:
        values = _choices(self._reader, self._reader.property(self.meaning, method))
        return values is not None and all(_key(value) in _READ_METHODS for value in values)

    def _statement(self) -> str:
        name = self._first(_LANGUAGE_NAMES, self._is_free_text)
        return f"a free statement in {show(name)}" if name else ""

    def _graphql(self) -> str:
        query = self._first(frozenset({"query", "graphql", "document"}), self._is_free_text)
        variables = self._first(frozenset({"variables"}), self._is_free_object)
        return f"a free {show(query)} with {show(variables)}" if query and variables else ""

    def _remote_procedure(self) -> str:
        method = self._first(frozenset({"method", "rpc_method"}), self._is_free_text)
        params = self._first(frozenset({"params", "arguments", "args"}), self._is_free_object)
        return f"a free {show(method)} with {show(params)}" if method and params else ""

    def _first(self, keys: frozenset[str], test: Any) -> str:
        for key in sorted(keys & self._by_key.keys()):
            name = self._by_key[key]
            if test(name):
                return name
        return ""

    def _is_http_method(self, name: str) -> bool:
        values = _choices(self._reader, self._reader.property(self.meaning, name))
        if values is None:
            return self._is_free_text(name)
        return bool(values) and all(_key(value) in _HTTP_METHODS for value in values)

    def _is_free_text(self, name: str) -> bool:
        meaning = self._reader.property(self.meaning, name)
        limited = meaning.has("enum", "const", "pattern", "anyOf", "oneOf")
        narrowed = mapping(self._constraints, name).keys() & {"enum", "pattern"}
        return meaning.may_be("string") and not limited and not narrowed and not meaning.is_never

    def _is_free_object(self, name: str) -> bool:
        place = self._reader.property(self.meaning, name).place
        return any(
            item.place == place and item.opening in (Opening.ANYTHING, Opening.MEMBERS)
            for item in openings(self._reader, place)
        )


@rule(
    "tool.read_write_mixed",
    Severity.BLOCK,
    title="One tool both reads and writes",
    why="If an argument decides whether a call looks or changes, the model decides its risk, and "
    "lookups can't be allowed without allowing changes.",
    fix="Split it into one capability that reads and one that writes.",
)
def tool_read_write_mixed(manifest: Manifest) -> Iterator[Complaint]:
    reader = reader_for(manifest)
    for capability in manifest.capabilities:
        if _name_joins_both(capability.capability_id) or _name_joins_both(capability.tool_name):
            message = f"{label(capability)} is named as a read and a write at once."
            yield Complaint(capability.at("capability_id"), message)
        yield from _mixed_choices(reader, capability)
        if not capability.is_write:
            yield from _write_switches(reader, capability)


def _write_switches(reader: SchemaReader, capability: Capability) -> Iterator[Complaint]:
    reported: set[str] = set()
    for item in _objects(reader, reader.schema_of(capability, "input")):
        for name in item.property_names():
            meaning = reader.property(item, name)
            place = meaning.place.pointer
            is_switch = _key(name) in _WRITE_SWITCHES and meaning.types == {"boolean"}
            if is_switch and meaning.allowed_values is None and place not in reported:
                reported.add(place)
                message = f"{label(capability)} reads, but {show(name)} decides whether it writes."
                yield Complaint(place, message)


def _mixed_choices(reader: SchemaReader, capability: Capability) -> Iterator[Complaint]:
    reported: set[str] = set()
    constraints = mapping(capability.raw, "arg_constraints")
    for item in _objects(reader, reader.schema_of(capability, "input")):
        for name in item.property_names():
            if _key(name) not in _CHOICE_NAMES:
                continue
            meaning = reader.property(item, name)
            values = _narrowed(_choices(reader, meaning) or (), mapping(constraints, name))
            reads, writes = _first_of(values, _READ_VERBS), _first_of(values, _WRITE_VERBS)
            if reads and writes and meaning.place.pointer not in reported:
                reported.add(meaning.place.pointer)
                message = (
                    f"{label(capability)} reads with {show(name)} {show(reads)} "
                    f"and writes with {show(writes)}."
                )
                yield Complaint(meaning.place.pointer, message)


def _narrowed(values: tuple[str, ...], constraint: Any) -> tuple[str, ...]:
    allowed = constraint.get("enum")
    return tuple(v for v in values if v in allowed) if isinstance(allowed, list) else values


def _first_of(values: tuple[str, ...], verbs: frozenset[str]) -> str:
    return next((value for value in values if (split_words(value) or ("",))[0] in verbs), "")


def _choices(reader: SchemaReader, meaning: Meaning) -> tuple[str, ...] | None:
    """The texts a member may take, over all alternatives; None if any text will do."""
    found: dict[str, None] = {}
    for reading in reader.alternatives(meaning):
        if reading.allowed_values is None:
            return None
        found.update(dict.fromkeys(v for v in reading.allowed_values if isinstance(v, str)))
    return tuple(found)


def _name_joins_both(name: str) -> bool:
    """`get_or_create_order` is both; `get_refund` and `list_deleted` are reads."""
    words = split_words(name)
    for index, word in enumerate(words):
        before, after = words[:index], words[index + 1 :]
        if word in _JOINERS and _has_both(before, after):
            return True
    return any(pair in (("read", "write"), ("write", "read")) for pair in pairwise(words))


def _has_both(before: tuple[str, ...], after: tuple[str, ...]) -> bool:
    reads_first = bool(_READ_VERBS.intersection(before)) and after[:1] and after[0] in _WRITE_VERBS
    writes_first = bool(_WRITE_VERBS.intersection(before)) and after[:1] and after[0] in _READ_VERBS
    return bool(reads_first or writes_first)


def _key(name: str) -> str:
    return "_".join(split_words(name))
