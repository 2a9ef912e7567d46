"""Names that say what business operation they stand for, and names that do not."""

import re
from collections.abc import Iterator

from registry.manifest import Capability, Manifest
from registry.readiness.catalogue import rule
from registry.readiness.findings import Complaint, Severity
from registry.readiness.words import label, show, split_words

# Words that name no operation by themselves, whatever they stand beside.
_EMPTY_WORDS = frozenset(
    {
        "action",
        "actions",
        "admin",
        "anything",
        "api",
        "arbitrary",
        "bar",
        "cmd",
        "command",
        "custom",
        "do",
        "endpoint",
        "everything",
        "foo",
        "function",
        "generic",
        "handle",
        "handler",
        "it",
        "method",
        "misc",
        "operation",
        "operations",
        "raw",
        "something",
        "stuff",
        "thing",
        "things",
        "tool",
        "universal",
    }
)
# Verbs that say something only beside a domain: `kg.query` does, `run_query` does not.
_VAGUE_WORDS = _EMPTY_WORDS | {
    "any",
    "call",
    "dispatch",
    "exec",
    "execute",
    "invoke",
    "perform",
    "query",
    "request",
    "run",
    "task",
}
# Verbs whose object has to say it: `process_harvest` does, `process_data` does not.
_EMPTY_VERBS = frozenset({"manage", "process"})
_EMPTY_OBJECTS = frozenset({"data", "info", "input", "object", "payload"})
# Words that add nothing where no domain stands before them.
_FILLERS = frozenset(
    {
        "a",
        "backend",
        "common",
        "core",
        "data",
        "fetch",
        "get",
        "helper",
        "info",
        "main",
        "make",
        "manage",
        "mcp",
        "my",
        "ops",
        "platform",
        "process",
        "send",
        "server",
        "service",
        "set",
        "system",
        "test",
        "the",
        "tools",
        "update",
        "util",
        "utils",
        "v",
    }
)
# Bare verbs that stay empty as the whole name of a tool, even where its id adds a domain; servers
# that offer just one thing do call it `query`, `search` or `fetch`.
_BARE_TOOL_NAMES = (_VAGUE_WORDS - {"query", "task"}) | _EMPTY_VERBS
_HTTP_VERBS = frozenset({"delete", "get", "head", "options", "patch", "post", "put"})
_VERSION = re.compile(r"(?:^|[._/-])v\d+(?:[._/-]|$)", re.IGNORECASE)
# Bindings the model sees; operation ids and function names belong to the other side.
_SHOWN_BINDINGS = ("mcp", "a2a")


@rule(
    "naming.non_specific",
    Severity.BLOCK,
    title="A name does not say what the operation does",
    why="A model chooses a tool by its name, and a reviewer judges by it: `run_query` could be "
    "anything.",
    fix="Name the business operation: `payments.issue_refund`, `orders_lookup`.",
)
def naming_non_specific(manifest: Manifest) -> Iterator[Complaint]:
    for capability in manifest.capabilities:
        domain, _, operation = capability.capability_id.rpartition(".")
        if _is_vague_operation(operation) or _is_vague_id(capability.capability_id):
            message = f"{label(capability)} does not name a business operation."
            yield Complaint(capability.at("capability_id"), message)
        tool = _shown_tool_name(manifest, capability)
        if tool and _is_vague_tool(tool, domain, operation):
            message = f"The tool name {show(tool)} does not name a business operation."
            yield Complaint(capability.tool_pointer, message)


def _is_vague_operation(operation: str) -> bool:
    """Judges what stands after the domain, which has already said what it is about."""
    words = _meaningful(operation)
    if len(words) == 1:
        return words[0] in _EMPTY_WORDS
    if words[:1] and words[0] in _EMPTY_VERBS:
        return all(word in _VAGUE_WORDS | _EMPTY_OBJECTS for word in words[1:])
    return bool(words) and all(word in _VAGUE_WORDS for word in words)


def _is_vague_id(name: str) -> bool:
    """Judges a whole id: a domain of fillers does not help a vague verb."""
    words = _meaningful(name)
    vague = [word for word in words if word in _VAGUE_WORDS]
    return bool(vague) and all(word in _VAGUE_WORDS | _FILLERS for word in words)


def _is_vague_tool(tool: str, domain: str, operation: str) -> bool:
    words, known = _meaningful(tool), _meaningful(domain)
    if known and words[: len(known)] == known and len(words) > len(known):
        return _is_vague_operation("_".join(words[len(known) :]))
    if words == _meaningful(operation):  # judged as the operation, but seen without its domain
        return len(words) == 1 and words[0] in _BARE_TOOL_NAMES
    if len(words) == 1:
        return words[0] in _VAGUE_WORDS | _BARE_TOOL_NAMES
    return bool(words) and all(word in _VAGUE_WORDS | _FILLERS for word in words)


def _meaningful(name: str) -> tuple[str, ...]:
    return tuple(word for word in split_words(name) if word != "v")


def _shown_tool_name(manifest: Manifest, capability: Capability) -> str:
    return capability.tool_name if manifest.protocol in _SHOWN_BINDINGS else ""


@rule(
    "naming.raw_endpoint",
    Severity.WARN,
    title="A name repeats an HTTP endpoint",
    why="Endpoint names change with the API and tell a reviewer nothing about the business effect.",
    fix="Name what the operation does for the business, not the path it calls.",
)
def naming_raw_endpoint(manifest: Manifest) -> Iterator[Complaint]:
    for capability in manifest.capabilities:
        operation = capability.capability_id.rpartition(".")[2]
        words = split_words(operation)
        if words[:1] and words[0] in _HTTP_VERBS and _looks_like_a_path(operation, words):
            message = f"{label(capability)} reads like an HTTP endpoint."
            yield Complaint(capability.at("capability_id"), message)


def _looks_like_a_path(operation: str, words: tuple[str, ...]) -> bool:
    return "api" in words or _VERSION.search(operation) is not None
