"""Two tenants, and the real runner for the functions that approved calls end in."""

from __future__ import annotations

import pytest

from contextos.identity.models import Tenant
from tests.factories import make_tenant
from tests.gateway.conftest import function_runner, ledger  # noqa: F401 - fixtures


@pytest.fixture
def acme(db: None) -> Tenant:
    """A tenant."""
    return make_tenant("tenant_acme")


@pytest.fixture
def globex(db: None) -> Tenant:
    """Another tenant."""
    return make_tenant("tenant_globex")
