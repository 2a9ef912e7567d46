"""What the log itself holds of values besides the store: the amounts that searches look for."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from audit.amounts import forget_amounts
from audit.erasing import NoEraser


class AuditEraser(NoEraser):
    """Amounts are no part of a record, so they go with the arguments they were taken from."""

    def erase(self, tenant_id: str, decision_ids: Collection[str]) -> Mapping[str, int]:
        """The amounts of these decisions."""
        return {"amounts": forget_amounts(tenant_id=tenant_id, decision_ids=decision_ids)}


ERASER = AuditEraser()
