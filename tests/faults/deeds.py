"""What callers do around a crash: propose, vote, ask again; and how each of it has to end."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from tests.faults.caller import Answer, Unanswered
from tests.faults.ledger_manifests import QUORUM, WIPE
from tests.faults.plant import Plant


@dataclass(slots=True)
class Deed:
    """One call that somebody wants made, and goes on wanting when nobody answers."""

    plant: Plant
    capability: str
    key: str
    text: str = "quick"
    verdict: str = "approve"
    run_id: str = ""

    def begin(self) -> None:
        """Open the run, before anything is armed."""
        self.run_id = self.plant.caller.open_run()

    def propose(self) -> Answer | None:
        """Once; None when the server died over it."""
        with suppress(Unanswered):
            return self.plant.caller.call(self.run_id, self.capability, self.text, key=self.key)
        return None

    def vote(self) -> None:
        """People vote until the request is decided, those included whose answer got lost."""
        approvers, found = self.plant.approvers, self.request()
        assert approvers is not None
        for _ in range(QUORUM + 1):
            if found is None or found[1] != "pending":
                return
            with suppress(Unanswered):
                approvers.vote(found[0], verdict=self.verdict)
            found = self.request()

    def go_on(self) -> str:
        """Propose again, vote if it waits for people; the id of the one call that the key names."""
        answer = self.propose()
        assert answer is not None, "the server is back"
        assert answer.status in (200, 202, 409), answer
        if self.capability == WIPE:
            self.vote()
        return self.tool_call_id()

    def tool_call_id(self) -> str:
        """The call of this run; there is one."""
        sql = "SELECT tool_call_id FROM gateway_toolcall WHERE run_id = %s"
        [(found,)] = self.plant.store.rows(sql, [self.run_id])
        return str(found)

    def request(self) -> tuple[str, str] | None:
        """Id and state of what people were asked, if they were."""
        sql = (
            "SELECT request.approval_id, request.state FROM approvals_approvalrequest request "
            "JOIN gateway_toolcall call ON call.tool_call_id = request.subject_id "
            "WHERE call.run_id = %s"
        )
        rows = self.plant.store.rows(sql, [self.run_id])
        return (str(rows[0][0]), str(rows[0][1])) if rows else None
