"""`python -m tests.faults.settle FILE`: tables, a tenant and its ledger in the database of the
environment, made through the services; FILE gets the tokens a caller needs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contextos.startup import start_django
from tests.faults.ledger_manifests import QUORUM

if TYPE_CHECKING:
    from tests.approvals.world import GateWorld

APPROVERS = 24  # a code is good once in half a minute, so each votes seldom
_TWO_PEOPLE = [{"name": "finance", "groups": ["finance"], "quorum": QUORUM}]


def main(ready_file: str) -> int:
    """Make everything in a process of its own, as an installer would."""
    start_django()
    from django.core.management import call_command

    call_command("migrate", verbosity=0, interactive=False)
    call_command("create_keys", verbosity=0)
    Path(ready_file).write_text(json.dumps(_settled()))
    return 0


def _settled() -> dict[str, Any]:
    from tests.approvals.world import GateWorld
    from tests.faults import ledger_manifests as made
    from tests.identity.signed_in import browser_of
    from tests.registry.walks import pack_walk

    world = GateWorld()
    world.publish_gate(version="1.1.0", stages=_TWO_PEOPLE, escalations=[])
    for manifest in (made.ledger(), made.haste(), made.vault()):
        world.house.published(manifest)
    for pack in (made.ledger_pack(), made.haste_pack(), made.vault_pack()):
        pack_walk(world.house).published(pack)
    browser = browser_of(world.house.user("operator"), world.house.tenant)
    return {
        "tenant_id": world.tenant_id,
        "agent_token": world.agent_token,
        "operator_session": browser.cookies["sessionid"].value,
        "approvers": [_approver(world, number) for number in range(APPROVERS)],
    }


def _approver(world: GateWorld, number: int) -> dict[str, str]:
    """Somebody who may vote, with the secret of their authenticator app."""
    from approvals.services import groups
    from contextos.identity.models import TotpDevice
    from tests.factories import make_member, make_user_token

    user = make_member(world.house.tenant, "finance_approver")
    device = TotpDevice(user=user, name="test", confirmed=True)
    secret = f"secret of approver {number:04d}".encode()
    device.set_secret(secret)
    device.save()
    groups.add_person(group=world.finance, user=user, actor=world.house.actor("admin"))
    return {"token": make_user_token(user, world.house.tenant).token, "secret": secret.hex()}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
