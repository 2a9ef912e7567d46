"""Who may decide a request, and why not; pure, so that every refusal can be tested and shown."""

from __future__ import annotations

from dataclasses import dataclass, field

VOTING_ROLE = "finance_approver"


@dataclass(frozen=True, slots=True)
class Person:
    """What counts of a person: who they are, and what they hold in the request's tenant."""

    user_id: str
    roles: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    may_vote: bool = False  # the object permission on the gate
    stands_in_for: frozenset[str] = frozenset()  # user_ids, by a delegation in force here


@dataclass(frozen=True, slots=True)
class Ask:
    """What counts of a request."""

    excluded: frozenset[str]
    groups: frozenset[str]  # who may vote at the stage that votes now
    voted: frozenset[str] = field(default_factory=frozenset)  # voters, and whom they voted for


@dataclass(frozen=True, slots=True)
class Refused:
    """Why somebody may not vote: a code, and a sentence that says it to them."""

    code: str
    sentence: str


def refusal(person: Person, ask: Ask, giver: Person | None = None) -> Refused | None:
    """None when the person may vote, in their own name or, with a giver, in that one's."""
    own = _personal(person, ask)
    if own is not None:
        return own
    if giver is not None:
        return _stand_in(person, giver, ask)
    if not person.may_vote or person.groups.isdisjoint(ask.groups):
        return Refused("approval.not_eligible", "This gate, or its present stage, is not yours.")
    return None


def _personal(person: Person, ask: Ask) -> Refused | None:
    """What keeps a person from this request whatever name they vote in."""
    if VOTING_ROLE not in person.roles:
        return Refused("approval.not_approver", "Voting is not among your roles in this tenant.")
    if person.user_id in ask.excluded:
        return Refused(
            "approval.own_request",
            "You asked for this, or wrote the manifest, rule or gate that it rests on.",
        )
    if person.stands_in_for & ask.excluded:
        return Refused(
            "approval.own_request", "You stand in for somebody who asked for this, or wrote it."
        )
    if person.user_id in ask.voted:
        return Refused("approval.already_voted", "You have voted on this request.")
    return None


def _stand_in(person: Person, giver: Person, ask: Ask) -> Refused | None:
    if giver.user_id not in person.stands_in_for:
        return Refused("approval.not_stand_in", "No delegation in force lets you vote for them.")
    if VOTING_ROLE not in giver.roles or not giver.may_vote:
        return Refused("approval.not_eligible", "They could not vote here themselves.")
    if giver.groups.isdisjoint(ask.groups):
        return Refused("approval.not_eligible", "Their groups do not keep this stage.")
    if giver.user_id in ask.voted:
        return Refused("approval.already_voted", "A vote was given in their name already.")
    return None
