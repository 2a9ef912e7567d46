"""What each button of a version's life sets in motion, said before it is pressed."""

from __future__ import annotations

from contextos.review.states import VersionState
from registry.models import AdapterVersion
from registry.selectors import active_version
from registry.services.lifecycle import REVIEWERS_FOR_DESTRUCTIVE


def consequences_of(verb: str, version: AdapterVersion) -> list[str]:
    """The sentences of one confirm page."""
    return {
        "submit": _submit,
        "publish": _publish,
        "rollback": _rollback,
        "retire": _retire,
    }[verb](version)


def _submit(version: AdapterVersion) -> list[str]:
    destructive = version.highest_mode == "destructive"
    people = (
        f"{REVIEWERS_FOR_DESTRUCTIVE} people other than its authors have to approve it, because "
        "it can do something destructive."
        if destructive
        else "Somebody who did not write on it has to approve it."
    )
    return [
        "The draft is frozen: from now on nobody can edit it. A change means a new version.",
        people,
        "Every rule is checked once more; a blocking finding stops the submission.",
    ]


def _publish(version: AdapterVersion) -> list[str]:
    return [
        "The manifest is signed, and the signature is checked on every load.",
        f"New runs in {version.environment} use {_its_capabilities(version)} from now on.",
        *_replaces(version),
    ]


def _rollback(version: AdapterVersion) -> list[str]:
    return [
        f"{version} is published again with the signature it was given before.",
        *_replaces(version),
        "The rollback is recorded with your name and notes.",
    ]


def _replaces(version: AdapterVersion) -> list[str]:
    current = active_version(version.adapter_id, version.environment)
    if current is None or current.pk == version.pk:
        return ["No version is published there now, so nothing is replaced."]
    return [
        f"{current} is deprecated: runs that are pinned to it drain, new runs do not get it.",
        f"Approvals that are pending on {current} are void and have to be asked for again.",
    ]


def _retire(version: AdapterVersion) -> list[str]:
    if version.state == VersionState.PUBLISHED:
        stops = [
            "From the next call on nothing runs on it, also not in runs that are under way.",
            f"{version.environment} is left without a published version of this adapter.",
            "Approvals that are pending on it are void.",
        ]
    elif version.state == VersionState.DEPRECATED:
        stops = ["Runs that still drain on it are refused from the next call on."]
    else:
        stops = ["It was never published, so nothing stops."]
    return [*stops, "A retired version can't be published again. Make a new version instead."]


def _its_capabilities(version: AdapterVersion) -> str:
    count = version.capability_count
    return "its capability" if count == 1 else f"its {count} capabilities"
