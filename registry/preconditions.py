"""Pre- and postconditions of skills: five plain forms, compiled to the policy logic.

`path == value`, `path != value`, `path includes value`, `path is present`, `path is absent`, joined
by `and`. A value in quotes is text; a bare one is a JSON number, true, false, null, or else text.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from contextos.core.errors import ContextOSError, ErrorKind, ErrorSpec, coded_error, register
from contextos.core.strict_json import loads
from registry.policy.logic import Condition, LogicError, check_logic, compile_condition, read_facts
from registry.schema_explain import show

register(
    ErrorSpec(
        "precondition.invalid",
        ErrorKind.VALIDATION,
        422,
        "A condition of a skill can't be understood",
        "Write `path == value`, `path != value`, `path includes value`, `path is present` or "
        "`path is absent`, joined by `and`.",
    )
)

MAX_LENGTH = 2000
_WORD = re.compile(r"""\s*(?:"(?P<double>(?:[^"\\]|\\.)*)"|'(?P<single>[^']*)'|(?P<bare>\S+))""")
_PATH = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*")
# The seeds' own names for what the policy logic reads.
_ROOTS = (("run_context.", "run."), ("evidence_refs", "evidence.refs"))
_EVIDENCE_KEYS = "evidence.keys"


class _Quoted(str):
    """A value that stood in quotes, and so is text whatever it looks like."""


def compile_precondition(text: str) -> Condition:
    """The condition a sentence states; raises `precondition.invalid`."""
    return compile_condition(logic_of(text))


def logic_of(text: str) -> dict[str, Any]:
    """The policy logic a sentence stands for; raises `precondition.invalid`."""
    if len(text) > MAX_LENGTH:
        raise _unreadable(text, f"It is longer than {MAX_LENGTH} characters.")
    clauses = [_clause(words, text) for words in _clauses(list(_words(text)))]
    logic = clauses[0] if len(clauses) == 1 else {"and": clauses}
    problems = check_logic(logic)
    if problems:
        raise _unreadable(text, problems[0].message)
    return logic


def holds(text: str, facts: Mapping[str, Any]) -> bool:
    """Whether a sentence is true of the facts; what can't be understood or decided is not."""
    try:
        return _compiled(text).holds(read_facts(facts))
    except (ContextOSError, LogicError):
        return False


@lru_cache(maxsize=1024)
def _compiled(text: str) -> Condition:
    return compile_precondition(text)


def _unreadable(text: str, why: str) -> ContextOSError:
    return coded_error("precondition.invalid", message=f"{show(text)}: {why}")


def _words(text: str) -> Iterator[str]:
    at = 0
    rest = text.rstrip()
    while at < len(rest):
        found = _WORD.match(rest, at)
        if found is None or not _ends_cleanly(rest, found):
            raise _unreadable(text, "A quotation mark is out of place.")
        at = found.end()
        bare = found["bare"]
        yield bare if bare is not None else _Quoted(_unquoted(found))


def _ends_cleanly(text: str, found: re.Match[str]) -> bool:
    """A closing quote is followed by white space, and a bare word does not open one."""
    if found["bare"] is not None:
        return found["bare"][0] not in "\"'"
    return found.end() == len(text) or text[found.end()].isspace()


def _unquoted(found: re.Match[str]) -> str:
    if found["single"] is not None:
        return found["single"]
    return re.sub(r"\\(.)", r"\1", found["double"])


def _clauses(words: list[str]) -> Iterator[list[str]]:
    clause: list[str] = []
    for word in words:
        if word == "and" and not isinstance(word, _Quoted):
            yield clause
            clause = []
        else:
            clause.append(word)
    yield clause


def _clause(words: list[str], text: str) -> dict[str, Any]:
    if len(words) != 3 or isinstance(words[0], _Quoted) or isinstance(words[1], _Quoted):
        raise _unreadable(text, "Each part has three words: a path, a comparison and a value.")
    path, comparison, value = words
    if not _PATH.fullmatch(path):
        raise _unreadable(text, f"{show(path)} is not a path.")
    name = _readable(path)
    match comparison:
        case "==":
            return {"===": [{"var": name}, _literal(value)]}
        case "!=":
            return {"!==": [{"var": name}, _literal(value)]}
        case "includes":
            return _membership(name, _literal(value))
        case "is" if value in ("present", "absent") and not isinstance(value, _Quoted):
            return {"!==" if value == "present" else "===": [{"var": name}, None]}
    raise _unreadable(text, f"{show(comparison)} is not one of ==, !=, includes, is.")


def _readable(path: str) -> str:
    for written, meant in _ROOTS:
        if written.endswith(".") and path.startswith(written):
            return meant + path.removeprefix(written)
        if path == written:
            return meant
    return path


def _membership(name: str, value: Any) -> dict[str, Any]:
    """Evidence is asked for by its key as often as by its ref, so either will do."""
    listed = _is_item_of(name, value)
    if name != "evidence.refs":
        return listed
    return {"or": [listed, _is_item_of(_EVIDENCE_KEYS, value)]}


def _is_item_of(name: str, value: Any) -> dict[str, Any]:
    return {"some": [{"var": name}, {"===": [{"var": ""}, value]}]}


def _literal(value: str) -> Any:
    if isinstance(value, _Quoted):
        return str(value)
    try:
        read = loads(value)
    except ContextOSError:
        return value
    return value if isinstance(read, dict | list | str) else read
