"""Approval modes: ordered by risk, clamped, and fitting their class."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextos.core.errors import ContextOSError
from contextos.core.modes import (
    ApprovalMode,
    CapabilityClass,
    clamp,
    highest,
    is_write_class,
    lowest,
    mode_fits_class,
    modes_allowed_for,
    parse_mode,
)

MODES = st.sampled_from(ApprovalMode)
ORDER = ["read_only", "local_write", "network", "delegated", "destructive"]


def test_modes_are_ordered_by_risk_and_not_by_the_alphabet() -> None:
    assert sorted(frozenset(ApprovalMode)) == ORDER
    assert ApprovalMode.DESTRUCTIVE > ApprovalMode.READ_ONLY
    for low, high in itertools.combinations(ApprovalMode, 2):
        assert low < high
        assert low <= high
        assert not low >= high
        assert not low > high


def test_a_mode_compares_with_its_plain_text_by_risk_too() -> None:
    assert ApprovalMode.READ_ONLY < "destructive"
    assert "destructive" > ApprovalMode.READ_ONLY  # noqa: SIM300
    with pytest.raises(ValueError, match="sudo"):
        _ = ApprovalMode.READ_ONLY < "sudo"


@pytest.mark.proves("C4")
@given(MODES, MODES)
def test_clamp_never_rises_above_the_maximum_or_the_request(
    requested: ApprovalMode, maximum: ApprovalMode
) -> None:
    result = clamp(requested, maximum)
    assert result <= maximum
    assert result <= requested
    assert result in (requested, maximum)


@given(st.lists(MODES, min_size=1))
def test_highest_and_lowest_bound_every_mode_given(modes: list[ApprovalMode]) -> None:
    assert all(lowest(modes) <= mode <= highest(modes) for mode in modes)


def test_the_highest_of_no_modes_grants_nothing() -> None:
    assert highest([]) is ApprovalMode.READ_ONLY


@pytest.mark.parametrize(
    ("capability_class", "allowed"),
    [
        (CapabilityClass.ACT, ["local_write", "network", "delegated", "destructive"]),
        (CapabilityClass.THINK_SUPPORT, ["read_only"]),
        (CapabilityClass.OBSERVE, ["read_only", "network"]),
        (CapabilityClass.RECALL, ["read_only", "network"]),
        (CapabilityClass.VERIFY, ["read_only", "network"]),
    ],
)
def test_each_class_allows_the_modes_of_the_contract(
    capability_class: CapabilityClass, allowed: list[str]
) -> None:
    assert sorted(modes_allowed_for(capability_class)) == allowed
    assert [m for m in ApprovalMode if mode_fits_class(m, capability_class)] == allowed


@pytest.mark.parametrize("capability_class", list(CapabilityClass))
@pytest.mark.parametrize("mode", list(ApprovalMode))
def test_write_class_is_act_or_a_writing_mode(
    capability_class: CapabilityClass, mode: ApprovalMode
) -> None:
    expected = capability_class == "act" or mode in ("local_write", "delegated", "destructive")
    assert is_write_class(capability_class, mode) is expected


def test_unknown_names_are_coded_errors() -> None:
    with pytest.raises(ContextOSError) as mode:
        parse_mode("sudo")
    assert mode.value.code == "mode.unknown"
    assert parse_mode("network") is ApprovalMode.NETWORK
