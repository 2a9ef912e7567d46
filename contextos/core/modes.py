"""Approval modes in order of risk, capability classes, and which mode fits which class."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType

from contextos.core.errors import coded_error


class ApprovalMode(StrEnum):
    """The five modes, ordered by risk.

    Comparison is by risk, never alphabetical: a plain string comparison would put
    `destructive` below `read_only`.
    """

    READ_ONLY = "read_only"
    LOCAL_WRITE = "local_write"
    NETWORK = "network"
    DELEGATED = "delegated"
    DESTRUCTIVE = "destructive"

    @property
    def rank(self) -> int:
        """The mode's place in the order of risk, 0 being harmless."""
        return _RANKS[self._value_]  # `value` itself is a function

    def __lt__(self, other: str) -> bool:
        return self.rank < ApprovalMode(other).rank

    def __le__(self, other: str) -> bool:
        return self.rank <= ApprovalMode(other).rank

    def __gt__(self, other: str) -> bool:
        return self.rank > ApprovalMode(other).rank

    def __ge__(self, other: str) -> bool:
        return self.rank >= ApprovalMode(other).rank


class CapabilityClass(StrEnum):
    """What a capability does for an agent."""

    OBSERVE = "observe"
    RECALL = "recall"
    THINK_SUPPORT = "think_support"
    ACT = "act"
    VERIFY = "verify"


_RANKS: Mapping[str, int] = MappingProxyType(
    {mode.value: rank for rank, mode in enumerate(ApprovalMode)}
)

_WRITE_MODES = frozenset(
    {ApprovalMode.LOCAL_WRITE, ApprovalMode.DELEGATED, ApprovalMode.DESTRUCTIVE}
)
_READS = frozenset({ApprovalMode.READ_ONLY, ApprovalMode.NETWORK})

MODES_BY_CLASS: Mapping[CapabilityClass, frozenset[ApprovalMode]] = MappingProxyType(
    {
        CapabilityClass.OBSERVE: _READS,
        CapabilityClass.RECALL: _READS,
        CapabilityClass.VERIFY: _READS,
        CapabilityClass.THINK_SUPPORT: frozenset({ApprovalMode.READ_ONLY}),
        CapabilityClass.ACT: frozenset(ApprovalMode) - {ApprovalMode.READ_ONLY},
    }
)


def parse_mode(text: str) -> ApprovalMode:
    """The mode named by untrusted text."""
    try:
        return ApprovalMode(text)
    except ValueError:
        raise coded_error("mode.unknown", data={"given": text}) from None


def exceeds(mode: ApprovalMode, maximum: ApprovalMode) -> bool:
    """Whether a mode is riskier than the maximum allows."""
    return mode > maximum


def clamp(requested: ApprovalMode, maximum: ApprovalMode) -> ApprovalMode:
    """The requested mode, but never above the maximum."""
    return maximum if exceeds(requested, maximum) else requested


def highest(modes: Iterable[ApprovalMode]) -> ApprovalMode:
    """The riskiest of the modes; of none at all, the harmless one."""
    return max(modes, key=lambda mode: mode.rank, default=ApprovalMode.READ_ONLY)


def lowest(modes: Iterable[ApprovalMode]) -> ApprovalMode:
    """The least risky of the modes; of none at all, the harmless one."""
    return min(modes, key=lambda mode: mode.rank, default=ApprovalMode.READ_ONLY)


def modes_allowed_for(capability_class: CapabilityClass) -> frozenset[ApprovalMode]:
    """The modes a capability of this class may declare."""
    return MODES_BY_CLASS[capability_class]


def mode_fits_class(mode: ApprovalMode, capability_class: CapabilityClass) -> bool:
    """Whether class and mode may stand together in a manifest."""
    return mode in MODES_BY_CLASS[capability_class]


def is_write_class(capability_class: CapabilityClass, mode: ApprovalMode) -> bool:
    """Whether a call can change something, and so needs an idempotency key."""
    return capability_class is CapabilityClass.ACT or mode in _WRITE_MODES
