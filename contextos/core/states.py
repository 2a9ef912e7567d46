"""State machines as data: a table of allowed transitions that checks itself."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from contextos.core.errors import coded_error


class TransitionTable:
    """The states of one noun, how they follow each other, and where they end.

    A table with a mistake fails when its module is imported. It guards nothing across
    processes: pair `check` with a compare-and-set UPDATE on `sources_of(target)` and repeat
    `check_constraint_values()` as a database constraint.
    """

    def __init__(
        self,
        name: str,
        *,
        initial: str,
        transitions: Mapping[str, Iterable[str]],
        terminal: Iterable[str],
    ) -> None:
        self.name = name
        self.initial = str(initial)
        self.terminal = frozenset(str(state) for state in terminal)
        self.transitions: Mapping[str, frozenset[str]] = MappingProxyType(
            {str(state): frozenset(map(str, targets)) for state, targets in transitions.items()}
            | {state: frozenset() for state in self.terminal if state not in transitions}
        )
        self._refuse_mistakes()

    @property
    def states(self) -> frozenset[str]:
        """Every state there is."""
        return frozenset(self.transitions)

    def allows(self, source: str, target: str) -> bool:
        """Whether one step leads from source to target."""
        return target in self.transitions.get(source, ())

    def check(self, source: str, target: str) -> None:
        """Refuse a step that the table does not allow, saying what is possible instead."""
        if self.allows(source, target):
            return
        possible = sorted(self.transitions.get(source, ()))
        raise coded_error(
            "state.transition_refused",
            message=self._refusal(source, target, possible),
            data={"subject": self.name, "from": source, "to": target, "possible": possible},
        )

    def is_terminal(self, state: str) -> bool:
        """Whether a state is final."""
        return state in self.terminal

    def sources_of(self, target: str) -> frozenset[str]:
        """The states from which one step leads to target: the WHERE of a compare-and-set."""
        return frozenset(state for state, targets in self.transitions.items() if target in targets)

    def check_constraint_values(self) -> tuple[str, ...]:
        """The values a database constraint on the state column should allow, in stable order."""
        return tuple(sorted(self.transitions))

    def _refusal(self, source: str, target: str, possible: list[str]) -> str:
        after = f"possible now: {', '.join(possible)}" if possible else "that state is final"
        return f"{self.name} can't go from {source} to {target}; {after}."

    def _refuse_mistakes(self) -> None:
        targets = frozenset().union(*self.transitions.values())
        dead_ends = {state for state, exits in self.transitions.items() if not exits}
        mistakes = {
            "states without a row": (targets | {self.initial}) - self.states,
            "terminal states with exits": {s for s in self.terminal if self.transitions[s]},
            "dead ends not declared terminal": dead_ends - self.terminal,
            "unreachable states": self.states - self._reachable(),
        }
        for problem, states in mistakes.items():
            if states:
                raise ValueError(f"transition table {self.name}: {problem}: {sorted(states)}")

    def _reachable(self) -> frozenset[str]:
        found: set[str] = set()
        pending = [self.initial]
        while pending:
            state = pending.pop()
            if state not in found:
                found.add(state)
                pending.extend(self.transitions.get(state, ()))
        return frozenset(found)
