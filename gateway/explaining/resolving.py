"""Refusals of the first step: what exists for the run, and what is stopped."""

from __future__ import annotations

from gateway.explaining.table import explains
from gateway.explaining.types import (
    Explanation,
    Ref,
    Refused,
    RunFacts,
    SpokenPermission,
    Step,
    Today,
    Way,
)
from gateway.explaining.wording import (
    ADMIN,
    AUTHOR,
    DEVELOPER,
    OPERATOR,
    OWNER,
    listed,
    said,
    scope_of,
    sentence,
)


@explains("capability.unknown", "permission.missing")
def explain_not_permitted(refused: Refused, today: Today) -> Explanation:
    """No line of a pack permits it: missing pack, other scope, or a misspelt name."""
    run = today.run
    granting = [item for item in today.permissions if item.allow]
    carried = [item for item in granting if run is None or item.pack_ref in run.packs]
    because = [
        (
            f"For this run {refused.capability_id} does not exist: no permission of its Context "
            "Packs matches its role, intent and environment. A misspelt name gets the same answer."
        )
    ]
    because += [_why_not(item, run) for item in granting if run is not None]
    if not granting and not today.published_in:
        because.append("No published adapter of this tenant offers a capability of that name.")
    elif not granting:
        because.append(
            f"The capability is published ({listed(today.published_in)}), "
            "but no published Context Pack permits it to anybody."
        )
    return Explanation(
        step=Step.RESOLVE,
        headline="No Context Pack of the run permits this capability.",
        because=because,
        missing=[_missing(refused, run)],
        ways=_ways_to_permission(refused, today, granting, carried),
        involved=[*refused.call, *(item.ref for item in granting)],
    )


def _missing(refused: Refused, run: RunFacts | None) -> str:
    if run is None:
        return f"A permission for {refused.capability_id}"
    return (
        f"A permission for {refused.capability_id} that holds for role {run.role or 'none'}, "
        f"intent {run.intent} and environment {run.environment}"
    )


def _why_not(item: SpokenPermission, run: RunFacts | None) -> str:
    if run is None:
        return f"{item.ref.text} permits it for {scope_of(item)}."
    if item.pack_ref not in run.packs:
        return f"{item.ref.text} would permit it for {scope_of(item)}, but the run has other packs."
    wanted = (
        ("role", run.role, item.roles),
        ("intent", run.intent, item.intents),
        ("environment", run.environment, item.environments),
    )
    off = [
        f"its {name} is {value or 'not set'}, not {listed(known)}"
        for name, value, known in wanted
        if known and value not in known
    ]
    if not off:
        return f"{item.ref.text} permits it today; perhaps it was changed since the refusal."
    return f"{item.ref.text} does not hold for this run: {'; '.join(off)}."


def _ways_to_permission(
    refused: Refused,
    today: Today,
    granting: list[SpokenPermission],
    carried: list[SpokenPermission],
) -> list[Way]:
    ways = []
    if today.callable_now:
        ways.append(Way("Call again: the run's tool manifest lists it now."))
    else:
        ways.append(Way("Read the run's tool manifest, and call one of the names it lists."))
    ways += [
        Way(f"Open a run for {scope_of(item)}.", DEVELOPER, item.ref)
        for item in granting
        if item in carried and today.run is not None
    ]
    ways += [
        Way(f"Open a run that carries {item.pack_ref}.", DEVELOPER, item.ref)
        for item in granting
        if item not in carried
    ]
    if today.published_in or not granting:
        pack = Ref("pack", refused.pack_ref, refused.pack_ref or "Context Packs")
        text = "Add a permission for it to a Context Pack of this intent, and open a new run."
        ways.append(Way(text, AUTHOR, pack))
    return ways


@explains("permission.denied")
def explain_denied_by_pack(refused: Refused, today: Today) -> Explanation:
    """A line of a pack says no, and a no outweighs every yes."""
    denying = [item for item in today.permissions if not item.allow]
    named = [f"{item.ref.text} denies it for {scope_of(item)}." for item in denying]
    return Explanation(
        step=Step.RESOLVE,
        headline="A Context Pack denies this capability.",
        because=[
            sentence(refused.message or "A permission of the pack says allow: false."),
            *named,
            "A denial outweighs every permission, also of other packs.",
        ],
        ways=[
            Way("Do without it: no argument lifts a denial."),
            *(
                Way("Take the denying line out of the pack, or narrow it.", AUTHOR, item.ref)
                for item in denying[:3]
            ),
        ],
        involved=[*refused.call, *(item.ref for item in denying)],
    )


@explains("capability.disabled", "pin.revoked")
def explain_stopped(refused: Refused, today: Today) -> Explanation:
    """A kill switch, a withdrawn version, or a signature that does not hold."""
    stopped = list(today.switches)
    off = refused.code == "capability.disabled" or "switched off" in refused.message
    ways = [Way(f"Lift the kill switch on {item.text}.", OPERATOR, item) for item in stopped]
    if off and not stopped:
        ways.append(Way("Call again: the switch that stopped it is lifted."))
    if not off:
        ways.append(
            Way("Open a new run: it is pinned to the versions that are published now.", DEVELOPER)
        )
        ways.append(Way("Publish a version that can be trusted.", ADMIN, refused.version))
    return Explanation(
        step=Step.RESOLVE,
        headline=(
            "An operator has switched this off."
            if off
            else "The version this run is pinned to was withdrawn."
        ),
        because=[
            *said(refused),
            "A kill switch holds from the next call on, also for runs that are under way."
            if off
            else "Runs stay on the version they were opened with as long as it is signed and "
            "not retired; after that nothing of it may run.",
        ],
        ways=ways,
        involved=[*refused.call, *stopped],
    )


@explains("drift.quarantined")
def explain_quarantine(refused: Refused, today: Today) -> Explanation:
    """The far side no longer is what was reviewed."""
    return Explanation(
        step=Step.RESOLVE,
        headline="The capability rests in quarantine.",
        because=[
            *said(refused),
            (
                "The adapter no longer matches the contract that was reviewed, so nothing of the "
                "changed part is called until somebody has looked."
            ),
        ],
        ways=[
            Way("Wait; the same call may be sent again once it is released.", DEVELOPER),
            Way("Have the changed contract reviewed as a new version.", OWNER, refused.version),
            Way("Release it after checking that nothing changed.", OPERATOR, refused.version),
        ],
        involved=refused.call,
    )


@explains("connector.unavailable")
def explain_no_connector(refused: Refused, today: Today) -> Explanation:
    """Nobody here speaks the adapter's protocol."""
    return Explanation(
        step=Step.ROUTE,
        headline="No connector of this installation speaks the adapter's protocol.",
        because=["The call is permitted, but nothing could carry it out. Nothing was started."],
        ways=[
            Way("Publish the adapter with a protocol that is connected.", OWNER, refused.version),
            Way("Run a release that brings the connector.", OPERATOR),
        ],
        involved=[refused.capability],
    )
