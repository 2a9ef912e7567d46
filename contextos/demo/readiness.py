"""Asks the demo's own web server whether it is ready, through the same door as everything else."""

from __future__ import annotations

from contextos.core.errors import ContextOSError
from contextos.net import EgressRule, Timeouts, open_client

PAUSE_SECONDS = 0.25


def answers_ready(port: int) -> bool:
    """True when /readyz says that every part works."""
    rule = EgressRule(hosts=(f"127.0.0.1:{port}",), allow_private=True, https_required=False)
    client = open_client(rule, timeouts=Timeouts(connect=1, read=5), deadline=5)
    try:
        return client.request("GET", f"http://127.0.0.1:{port}/readyz").status == 200
    except ContextOSError:
        return False
