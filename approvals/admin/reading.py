"""One request in front of one person: may they decide, in whose name, and if not, why."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from approvals.eligibility import Ask, Refused, refusal
from approvals.gates import GateTerms, Stage, read_terms
from approvals.keepers import able_to_decide
from approvals.models import ApprovalRequest, Vote
from approvals.services.requests import is_overdue
from approvals.states import RequestState
from approvals.viewer import Viewer
from contextos.core.clock import utcnow

MOST_NAMES = 20


@dataclass(frozen=True, slots=True)
class Way:
    """A name somebody may vote in: their own, or that of a person they stand in for."""

    value: str  # the giver's user_id; empty for one's own
    label: str


class Reading:
    """Asks eligibility with what was read already; the service asks again at the vote."""

    def __init__(self, viewer: Viewer, request: ApprovalRequest) -> None:
        self.viewer = viewer
        self.request = request

    # --- the request --------------------------------------------------------------------------
    @cached_property
    def terms(self) -> GateTerms:
        """As of its opening."""
        return read_terms(self.request.terms)

    @cached_property
    def stage(self) -> int:
        """The stage that votes now, or the last one."""
        return min(self.request.stage, len(self.terms.stages) - 1)

    @property
    def stage_terms(self) -> Stage:
        """Its name, groups and quorum."""
        return self.terms.stages[self.stage]

    @cached_property
    def votes(self) -> list[Vote]:
        """All of them, also withdrawn ones."""
        rows = Vote.objects.filter(request=self.request)
        return list(rows.select_related("approver", "on_behalf_of"))

    @cached_property
    def standing(self) -> list[Vote]:
        """Those that count."""
        return [vote for vote in self.votes if vote.withdrawn_at is None]

    @property
    def counted(self) -> tuple[int, int]:
        """(approvals at the present stage, or the last one, rejections)."""
        yes = sum(v.verdict == "approve" and v.stage == self.stage for v in self.standing)
        return yes, sum(v.verdict == "reject" for v in self.standing)

    @cached_property
    def ask(self) -> Ask:
        """As eligibility looks at it."""
        voters = (vote.approver.user_id for vote in self.standing)
        spoken_for = (vote.on_behalf_of.user_id for vote in self.standing if vote.on_behalf_of)
        return Ask(
            excluded=frozenset(self.request.excluded),
            groups=self.terms.groups_at(self.stage, self.request.escalation),
            voted=frozenset((*voters, *spoken_for)),
        )

    @property
    def waits(self) -> bool:
        """Whether a vote would still be taken."""
        return self.request.state == RequestState.PENDING and not is_overdue(self.request, utcnow())

    # --- the viewer ---------------------------------------------------------------------------
    @cached_property
    def refused(self) -> Refused | None:
        """Why they may not vote in their own name."""
        return refusal(self.viewer.person_at(self.request.gate_id), self.ask)

    @cached_property
    def ways(self) -> list[Way]:
        """The names they may vote in, their own first."""
        own = [] if self.refused else [Way("", "In my own name")]
        gate_id = self.request.gate_id
        person = self.viewer.person_at(gate_id)
        givers = [
            lent.giver
            for lent in self.viewer.lent
            if lent.giver is not None and lent.allows(gate_id)
        ]
        free = [giver for giver in givers if refusal(person, self.ask, giver.at(gate_id)) is None]
        return own + [Way(giver.user_id, f"For {giver.name}") for giver in free]

    @property
    def may_decide(self) -> bool:
        """Whether the page offers the buttons."""
        return self.waits and bool(self.ways)

    @property
    def sees_values(self) -> bool:
        """Only those who keep the gate and had no part in it read the arguments."""
        return self._keeps and not self._party

    @property
    def may_talk(self) -> bool:
        """Who keeps the gate asks and comments; who had a part in it may answer."""
        return self._keeps or self._party

    @property
    def why_hidden(self) -> str:
        """In a sentence, for those who don't see the arguments."""
        if self._party and self.refused:
            return self.refused.sentence
        return "Only those who keep this gate, and had no part in the request, read them."

    @cached_property
    def own_vote(self) -> Vote | None:
        """The viewer's standing vote."""
        return next((v for v in self.standing if v.approver_id == self.viewer.user.pk), None)

    @property
    def may_withdraw(self) -> bool:
        """While nothing has run."""
        states = (RequestState.PENDING, RequestState.APPROVED)
        return self.own_vote is not None and self.request.state in states

    @property
    def _keeps(self) -> bool:
        return self.request.gate_id in self.viewer.gates

    @cached_property
    def _party(self) -> bool:
        person = self.viewer.person_at(self.request.gate_id)
        involved = {person.user_id, *person.stands_in_for}
        return not involved.isdisjoint(self.ask.excluded)

    # --- the others ---------------------------------------------------------------------------
    @cached_property
    def deciders(self) -> list[str]:
        """Everybody who could vote now in their own name, by name."""
        return sorted(keeper.name for keeper in able_to_decide(self.request, self.ask))
