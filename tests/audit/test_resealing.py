"""An old field key can go: every value is encrypted again under the new one (E2)."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.models import Payload
from audit.payloads import open_payload
from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError
from contextos.core.fieldcrypt import generate_key
from contextos.identity import resealing
from contextos.identity.models import Tenant
from tests.audit.old_rows import value
from tests.factories import SYSTEM

pytestmark = [pytest.mark.django_db, pytest.mark.proves("E2")]
LABEL = "audit.Payload.sealed"


def _values(tenant: Tenant, number: int) -> list[str]:
    return [value(tenant.pk, f"dec_{place}", "args", utcnow()) for place in range(number)]


def test_values_open_under_the_new_key_alone_after_a_rotation(acme: Tenant, settings: Any) -> None:
    names, old, new = _values(acme, 3), settings.FIELD_KEYS, generate_key()
    erased = _values(acme, 1)[0]
    Payload.objects.filter(pk=erased).update(sealed=None, erased_at=utcnow())
    before = dict(Payload.objects.values_list("payload_id", "commitment"))
    settings.FIELD_KEYS = [new, *old]
    said = StringIO()
    call_command("rotate_keys", purpose="fields", stdout=said)
    assert f"{LABEL}: 3 encrypted under the first key." in said.getvalue()
    settings.FIELD_KEYS = [new]
    for name in names:
        assert open_payload(tenant_id=acme.pk, payload_id=name) == {"name": "canary"}
    assert dict(Payload.objects.values_list("payload_id", "commitment")) == before
    with pytest.raises(ContextOSError, match="erased"):
        open_payload(tenant_id=acme.pk, payload_id=erased)
    settings.FIELD_KEYS = old
    with pytest.raises(ContextOSError):
        open_payload(tenant_id=acme.pk, payload_id=names[0])


def test_a_rotation_that_broke_off_goes_on_with_what_is_left(
    acme: Tenant, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    _values(acme, 7)
    settings.FIELD_KEYS = [generate_key(), *settings.FIELD_KEYS]
    monkeypatch.setattr(resealing, "_AT_ONCE", 2)

    def stop(label: str, done: int) -> None:
        if (label, done) == (LABEL, 4):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        resealing.reseal_all(SYSTEM, stop)
    told: list[tuple[str, int]] = []
    done = resealing.reseal_all(SYSTEM, lambda *said: told.append(said))
    assert done[LABEL] == 3
    assert [number for label, number in told if label == LABEL] == [2, 3]
    with CaptureQueriesContext(connection) as asked:
        assert resealing.reseal_all(SYSTEM)[LABEL] == 0
    assert not [each for each in asked.captured_queries if "UPDATE" in each["sql"]]
