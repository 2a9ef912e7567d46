"""Only a direct visitor from this machine counts as one."""

from __future__ import annotations

import pytest
from django.test import RequestFactory

from contextos.loopback import is_loopback_caller


@pytest.mark.parametrize("address", ["127.0.0.1", "127.9.9.9", "::1"])
def test_a_direct_visitor_from_this_machine(address: str) -> None:
    assert is_loopback_caller(RequestFactory().get("/metrics", REMOTE_ADDR=address))


@pytest.mark.parametrize("address", ["10.0.0.1", "::ffff:10.0.0.1", "", "localhost", "unix:"])
def test_everybody_else(address: str) -> None:
    assert not is_loopback_caller(RequestFactory().get("/metrics", REMOTE_ADDR=address))


@pytest.mark.parametrize(
    "header",
    [
        "Forwarded",
        "Via",
        "X-Forwarded-For",
        "X-Forwarded-Host",
        "X-Forwarded-Proto",
        "X-Real-IP",
    ],
)
def test_a_proxy_on_this_machine_speaks_for_somebody_else(header: str) -> None:
    request = RequestFactory().get("/metrics", headers={header: "127.0.0.1"})
    assert not is_loopback_caller(request)
