"""`python -m tests.faults.settle FILE`: tables, a tenant and its ledger in the database of the
environment, made through the services; FILE gets the tokens a caller needs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from contextos.startup import start_django


def main(ready_file: str) -> int:
    """Make everything in a process of its own, as an installer would."""
    start_django()
    from django.core.management import call_command

    call_command("migrate", verbosity=0, interactive=False)
    call_command("create_keys", verbosity=0)
    Path(ready_file).write_text(json.dumps(_settled()))
    return 0


def _settled() -> dict[str, str]:
    from tests.faults.ledger_manifests import ledger, ledger_pack
    from tests.gateway.world import GatewayWorld
    from tests.identity.signed_in import browser_of
    from tests.registry.walks import pack_walk

    world = GatewayWorld()
    world.house.published(ledger())
    pack_walk(world.house).published(ledger_pack())
    browser = browser_of(world.house.user("operator"), world.house.tenant)
    return {
        "tenant_id": world.tenant_id,
        "agent_token": world.agent_token,
        "operator_session": browser.cookies["sessionid"].value,
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
