"""Labels of the registry's pages: the words carry the meaning, the colour only repeats it."""

from __future__ import annotations

from django.utils.safestring import SafeString

from contextos.adminkit.display import Tone, badge
from contextos.core.modes import CapabilityClass
from contextos.core.text import single_line
from registry.models import AdapterVersion
from registry.risk_diff import Direction, Verdict

DIRECTIONS: dict[str, tuple[str, Tone]] = {
    Direction.WIDENS.value: ("widens", "danger"),
    Direction.UNKNOWN.value: ("unknown, counts as widening", "danger"),
    Direction.NARROWS.value: ("narrows", "success"),
    Direction.NEUTRAL.value: ("neutral", "neutral"),
}
VERDICTS: dict[str, tuple[str, Tone]] = {
    Verdict.WIDENS.value: ("widens", "danger"),
    Verdict.NARROWS.value: ("narrows", "success"),
    Verdict.NEUTRAL.value: ("neutral", "neutral"),
    Verdict.UNCHANGED.value: ("unchanged", "neutral"),
}


def direction_badge(direction: str) -> SafeString:
    """Which way a change moves the risk."""
    return badge(*DIRECTIONS.get(direction, (direction, "danger")))


def verdict_badge(verdict: str) -> SafeString:
    """The whole comparison in one word."""
    return badge(*VERDICTS[verdict]) if verdict in VERDICTS else SafeString("")


def risk_badge(version: AdapterVersion) -> SafeString:
    """What got riskier since the published version; nothing before the submission."""
    if version.risk and version.compared_with_id is None:
        return badge("all new", "danger")
    return verdict_badge(version.risk)


def class_badge(name: str) -> SafeString:
    """One of the five capability classes; anything else is shown as unknown."""
    try:
        known = CapabilityClass(name)
    except ValueError:
        return badge(f"unknown class: {single_line(name, limit=40)}", "danger")
    tone: Tone = "warning" if known is CapabilityClass.ACT else "neutral"
    return badge(known.value.replace("_", " "), tone)


def findings_summary(blocking: int, warnings: int) -> SafeString:
    """How many findings stop a version or want a tick."""
    if not blocking and not warnings:
        return badge("none", "success")
    parts = []
    if blocking:
        parts.append(badge(f"{blocking} blocking", "danger"))
    if warnings:
        parts.append(badge(f"{warnings} to tick", "warning"))
    return SafeString(" ".join(parts))


def environment_badge(environment: str) -> SafeString:
    """Where a version applies."""
    return badge(environment, "warning" if environment == "production" else "neutral")
