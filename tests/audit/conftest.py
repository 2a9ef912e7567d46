"""Two tenants that must never meet."""

from __future__ import annotations

import pytest

from contextos.identity.models import Tenant
from tests.factories import make_tenant


@pytest.fixture
def acme(db: None) -> Tenant:
    return make_tenant("acme_prod", name="Acme")


@pytest.fixture
def globex(db: None) -> Tenant:
    return make_tenant("globex_prod", name="Globex")
