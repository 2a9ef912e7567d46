"""What should become of requests, votes and calls, said a second time in a few plain lines.

The state machine holds the product against this; nothing here reads the product's code or rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field

TERMINAL = frozenset({"rejected", "expired", "cancelled", "voided", "consumed"})
OPEN = frozenset({"pending", "approved"})


@dataclass(frozen=True)
class GateNow:
    """The gate in force: its version, and what its stages ask for."""

    version: str = "1.0.0"
    quorums: tuple[int, ...] = (1,)
    deny: int = 1
    factor: bool = True


@dataclass(frozen=True)
class Given:
    """One standing vote."""

    verdict: str
    stage: int
    for_whom: str | None


@dataclass
class Asked:
    """One request, as it ought to stand."""

    approval_id: str
    call_id: str
    key: str
    amount: int
    run: str
    digest: str
    asker: str | None
    manifest: str
    gate: GateNow
    wanted: int  # by policy
    state: str = "pending"
    overdue: bool = False
    call: str = "paused"
    votes: dict[str, Given] = field(default_factory=dict)

    @property
    def quorums(self) -> list[int]:
        """Policy may ask for more people; they come on top of the last stage."""
        more = max(0, self.wanted - sum(self.gate.quorums))
        return [*self.gate.quorums[:-1], self.gate.quorums[-1] + more]

    @property
    def stage(self) -> int:
        """The first stage that has not enough votes yet."""
        for number, quorum in enumerate(self.quorums):
            given = [v for v in self.votes.values() if v.verdict == "approve" and v.stage == number]
            if len(given) < quorum:
                return number
        return len(self.quorums)

    @property
    def passed(self) -> bool:
        return self.stage == len(self.quorums)

    @property
    def denied(self) -> bool:
        return sum(v.verdict == "reject" for v in self.votes.values()) >= self.gate.deny

    @property
    def spoken_for(self) -> set[str]:
        """Whoever voted, and whoever was voted for."""
        return set(self.votes) | {v.for_whom for v in self.votes.values() if v.for_whom}


@dataclass
class House:
    """Everything else that decides: who keeps the gate, who stands in, what is in force."""

    keepers: set[str]
    stand_ins: dict[str, tuple[str, str]] = field(default_factory=dict)  # id -> giver, stand-in
    manifest: str = "1.0.0"
    gate: GateNow = field(default_factory=GateNow)
    wanted: int = 1

    def stands_in_for(self, name: str) -> set[str]:
        return {giver for giver, stand_in in self.stand_ins.values() if stand_in == name}

    def refusal(self, asked: Asked, name: str, giver: str | None, right_digest: bool) -> str | None:
        """Why a vote is refused, in the order of the contract; None when it counts."""
        own = {asked.asker} - {None}
        if name in own or self.stands_in_for(name) & own:
            return "approval.own_request"
        over = asked.state != "pending"
        late = "approval.not_pending" if over else "approval.already_voted"
        if name in asked.spoken_for:
            return late
        if giver is not None and giver not in self.stands_in_for(name):
            return "approval.not_stand_in"
        if (giver or name) not in self.keepers:
            return "approval.not_eligible"
        if giver in asked.spoken_for:
            return late
        if over or asked.overdue:
            return "approval.not_pending"
        return None if right_digest else "approval.stale_digest"

    def changed(self, asked: Asked) -> bool:
        """Whether something else would run today, or by other people's leave."""
        return (
            asked.manifest != self.manifest
            or asked.gate.version != self.gate.version
            or asked.wanted != self.wanted
        )

    # --- what follows from what ---
    def voted(self, asked: Asked, name: str, vote: Given) -> None:
        asked.votes[name] = vote
        if asked.denied:
            asked.state = "rejected"
        elif asked.passed:
            asked.state = "approved"

    def woken(self, asked: Asked) -> None:
        """The gateway looks at a request that is no longer pending."""
        if asked.state == "approved":
            asked.state = "voided" if self.changed(asked) else "consumed"
            if asked.state == "consumed":
                asked.call = "queued"
        if asked.state in TERMINAL - {"consumed", "cancelled"} and asked.call == "paused":
            asked.call = "rejected"

    def swept(self, asked: Asked) -> None:
        if asked.state in OPEN and asked.overdue:
            asked.state = "expired"
        if asked.state in OPEN and self.changed(asked):
            asked.state = "voided"
        self.woken(asked)

    def cancelled(self, asked: Asked) -> str | None:
        if asked.call == "cancelled":
            return None
        if asked.call not in ("paused", "queued"):
            return "call.already_ended"
        asked.call = "cancelled"
        if asked.state in OPEN:
            asked.state = "cancelled"
        return None

    def withdrawn(self, asked: Asked, name: str) -> str | None:
        if asked.state not in OPEN:
            return "approval.not_pending"
        if asked.votes.pop(name, None) is None:
            return "approval.nothing_to_withdraw"
        if asked.state == "approved" and not asked.passed:
            asked.state = "pending"
        return None
