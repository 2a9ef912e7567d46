"""The policy language: JsonLogic with listed operators, bounded size and a fixed reading list.

Two departures from common JsonLogic, both so that nothing is true by accident: `==` and `!=`
compare as `===` and `!==` (null is not 0, "1" is not 1), and a condition holds only if its result
is exactly `true`; `false` and `null` mean it does not, and any other result is an error.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from datalogic_py import DataHandle, DataLogicError, Engine, Rule

from contextos.core.json_pointer import escape
from registry.schema_explain import show
from registry.validation import Problem

MAX_DEPTH = 24
MAX_NODES = 500
MAX_TEXT = 4096
# Bounds the work of one condition whatever the arguments hold; some 10 ms at the very most.
_OPERATION_BUDGET = 100_000

READABLE_ROOTS = (
    "user.",
    "agent.",
    "run.",
    "request.args.",
    "request.context.",
    "capability.",
    "evidence.",
    "time.",
)

_READING = frozenset({"var", "missing", "missing_some"})
_COMPARING = frozenset({"==", "===", "!=", "!==", "<", "<=", ">", ">=", "in"})
_DECIDING = frozenset({"!", "!!", "and", "or", "if", "?:"})
_COUNTING = frozenset({"+", "-", "*", "/", "%", "min", "max", "abs", "ceil", "floor", "length"})
_SPELLING = frozenset({"cat", "substr", "starts_with", "ends_with", "lower", "upper", "trim"})
# The second argument of these is read with the item, not the inputs, as its root.
_PER_ITEM = frozenset({"map", "filter", "reduce", "all", "some", "none"})
OPERATORS = (
    _READING | _COMPARING | _DECIDING | _COUNTING | _SPELLING | _PER_ITEM | frozenset({"merge"})
)
_TYPED: Mapping[str, str] = MappingProxyType({"==": "===", "!=": "!=="})

_engine = Engine(
    config={"preset": "strict", "ops_budget": _OPERATION_BUDGET},
    families=["ExtString", "ExtMath"],
)
_FEWEST: Mapping[str, int] = MappingProxyType(
    {item["name"]: item["min_args"] for item in _engine.operators()}
)


Facts = DataHandle


class LogicError(Exception):
    """A condition could not be decided; whoever asked has to deny."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A compiled condition; safe to share between threads."""

    _rule: Rule

    def holds(self, facts: Facts) -> bool:
        """Whether the condition is exactly true of these facts; raises `LogicError`."""
        try:
            result = self._rule.evaluate_data(facts)
        except DataLogicError as error:
            raise LogicError(error.error_type) from error
        if result is True:
            return True
        if result is False or result is None:
            return False
        raise LogicError(f"the result is {show(result)}, not true or false")


def read_facts(document: Mapping[str, Any]) -> Facts:
    """Inputs made ready for many evaluations; raises `LogicError`."""
    try:
        return DataHandle(document)
    except DataLogicError as error:
        raise LogicError("the inputs have no JSON form") from error


def compile_condition(logic: Any) -> Condition:
    """Compile logic that `check_logic` has nothing against."""
    return Condition(_engine.compile(_typed(logic)))


def check_logic(logic: Any, pointer: str = "") -> tuple[Problem, ...]:
    """Everything that forbids publishing a condition."""
    if not isinstance(logic, dict | bool):
        return (_problem(pointer, "A condition is an object with one operator, or true or false."),)
    found = _size_problems(logic, pointer)
    found = found or tuple(_walk(logic, pointer, per_item=False))
    return found or _engine_problems(logic, pointer)


def _problem(pointer: str, message: str) -> Problem:
    return Problem(pointer, message, "logic")


def _size_problems(logic: Any, pointer: str) -> tuple[Problem, ...]:
    """Level by level, so that no depth can exhaust the stack."""
    level, depth, nodes = [logic], 0, 0
    while level:
        depth, nodes = depth + 1, nodes + len(level)
        if depth > MAX_DEPTH:
            return (_problem(pointer, f"The condition is deeper than {MAX_DEPTH} levels."),)
        if nodes > MAX_NODES:
            return (_problem(pointer, f"The condition has more than {MAX_NODES} parts."),)
        if any(isinstance(item, str) and len(item) > MAX_TEXT for item in level):
            return (_problem(pointer, f"A text is longer than {MAX_TEXT} characters."),)
        level = [member for item in level for member in _members(item)]
    return ()


def _members(item: Any) -> list[Any]:
    if isinstance(item, dict):
        return list(item.values())
    return item if isinstance(item, list) else []


def _walk(node: Any, pointer: str, *, per_item: bool) -> Iterator[Problem]:
    if isinstance(node, list):
        for index, item in enumerate(node):
            yield from _walk(item, f"{pointer}/{index}", per_item=per_item)
    elif isinstance(node, dict):
        yield from _walk_operation(node, pointer, per_item=per_item)


def _walk_operation(node: dict[str, Any], pointer: str, *, per_item: bool) -> Iterator[Problem]:
    if len(node) != 1:
        yield _problem(pointer, "An operation is an object with exactly one operator.")
        return
    ((operator, given),) = node.items()
    place = f"{pointer}/{escape(operator)}"
    if operator not in OPERATORS:
        yield _problem(place, f"The operator {show(operator)} is not allowed.")
    elif isinstance(given, list) and len(given) < _FEWEST.get(operator, 0):
        yield _problem(place, f"The operator {show(operator)} has too few arguments.")
    elif operator in _READING:
        yield from _walk_reading(operator, given, place, per_item=per_item)
    elif operator in _PER_ITEM and isinstance(given, list):
        for index, item in enumerate(given):
            yield from _walk(item, f"{place}/{index}", per_item=per_item or index == 1)
    else:
        yield from _walk(given, place, per_item=per_item)


def _walk_reading(operator: str, given: Any, place: str, *, per_item: bool) -> Iterator[Problem]:
    names, rest = _names_read(operator, given)
    for name in names:
        complaint = _reading_complaint(name, per_item=per_item)
        if complaint:
            yield _problem(place, complaint)
    yield from _walk(rest, place, per_item=per_item)


def _names_read(operator: str, given: Any) -> tuple[list[Any], Any]:
    """The names an operator reads, and what else in it has to be walked."""
    parts = given if isinstance(given, list) else [given]
    if operator == "var":
        return parts[:1] or [""], parts[1:]
    if operator == "missing_some":
        names = parts[1] if len(parts) == 2 else None
        return (names, []) if isinstance(names, list) else ([None], [])
    if len(parts) == 1 and isinstance(parts[0], list):
        return parts[0], []
    return parts, []


def _reading_complaint(name: Any, *, per_item: bool) -> str:
    if per_item:
        literal = isinstance(name, str) or type(name) is int
        return "" if literal else "The name that is read has to be written out, not computed."
    if not isinstance(name, str):
        return "The name that is read has to be written out, not computed."
    if not name.startswith(READABLE_ROOTS) or "" in name.split("."):
        roots = ", ".join(f"{root}*" for root in READABLE_ROOTS)
        return f"{show(name)} can't be read; conditions read {roots}."
    return ""


def _engine_problems(logic: Any, pointer: str) -> tuple[Problem, ...]:
    """What the engine itself has against it, such as an operator with too few arguments."""
    try:
        found = _engine.check(_typed(logic))
    except DataLogicError as error:
        return (_problem(pointer, f"The condition can't be compiled: {error}."),)
    return tuple(
        _problem(f"{pointer}{item['pointer']}", f"{item['message']}.")
        for item in found
        if item["severity"] == "error"
    )


def _typed(node: Any) -> Any:
    if isinstance(node, list):
        return [_typed(item) for item in node]
    if isinstance(node, dict):
        return {_TYPED.get(operator, operator): _typed(given) for operator, given in node.items()}
    return node
