"""Every change of the registry is in the log, and a change that can't be recorded is not made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps
from django.db import DatabaseError, connection, transaction

from audit.models import AuditEvent
from registry.actions import ACTIONS
from registry.models import KillSwitch
from registry.services import lifecycle
from registry.services.adapters import register_adapter
from registry.services.kill_switches import lift_switch
from registry.services.quarantines import quarantine_capability, release_capability
from tests.registry.documents import Document, bundle, pack
from tests.registry.house import House
from tests.registry.manifests import orders, refunds
from tests.registry.walks import Walk, pack_walk, policy_walk


def _throw(house: House) -> KillSwitch:
    return house.throw("tenant", house.tenant_id)


def _comment(house: House, version: Any) -> Any:
    return lifecycle.comment(
        version_id=version.pk,
        reviewer=house.user("reviewer"),
        actor=house.actor("reviewer"),
        text="Hm.",
    )


# What is prepared, then what is done: each step writes at least one event.
Step = tuple[Callable[[House], Any], Callable[[House, Any], Any], str]
STEPS: dict[str, Step] = {
    "register": (
        lambda house: None,
        lambda house, _: register_adapter(
            tenant_id=house.tenant_id, adapter_id="adp_x", name="X", actor=house.actor("author")
        ),
        "adapter.registered",
    ),
    "draft": (
        lambda house: None,
        lambda house, _: house.draft(orders()),
        "adapter_version.drafted",
    ),
    "edit": (
        lambda house: house.draft(orders()),
        lambda house, v: house.edit(v, orders(name="II"), by="author"),
        "adapter_version.edited",
    ),
    "submit": (
        lambda house: house.draft(orders()),
        lambda house, v: house.submit(v),
        "adapter_version.submitted",
    ),
    "comment": (
        lambda house: house.in_review(orders()),
        _comment,
        "adapter_version.reviewed",
    ),
    "first of two approvals": (
        lambda house: house.in_review(refunds()),
        lambda house, v: house.approve(v),
        "adapter_version.reviewed",
    ),
    "approve": (
        lambda house: house.in_review(orders()),
        lambda house, v: house.approve(v),
        "adapter_version.approved",
    ),
    "reject": (
        lambda house: house.in_review(orders()),
        lambda house, v: house.reject(v),
        "adapter_version.rejected",
    ),
    "request changes": (
        lambda house: house.in_review(orders()),
        lambda house, v: house.request_changes(v),
        "adapter_version.changes_requested",
    ),
    "publish": (
        lambda house: house.approved(orders()),
        lambda house, v: house.publish(v),
        "adapter_version.published",
    ),
    "retire": (
        lambda house: house.published(orders()),
        lambda house, v: house.retire(v),
        "adapter_version.retired",
    ),
    "throw": (lambda house: None, lambda house, _: _throw(house), "kill_switch.thrown"),
    "lift": (
        _throw,
        lambda house, s: lift_switch(switch_id=s.pk, actor=house.actor("operator"), reason="Go."),
        "kill_switch.lifted",
    ),
}


def _document_steps(
    kind: str, walk: Callable[[House], Walk], make: Callable[..., Document]
) -> dict[str, Step]:
    """The steps that packs and bundles share."""
    return {
        f"{kind} draft": (
            lambda house: None,
            lambda house, _: walk(house).draft(make()),
            f"{kind}.drafted",
        ),
        f"{kind} edit": (
            lambda house: walk(house).draft(make()),
            lambda house, v: walk(house).edit(v, make(owner_role="others")),
            f"{kind}.edited",
        ),
        f"{kind} submit": (
            lambda house: walk(house).draft(make()),
            lambda house, v: walk(house).submit(v),
            f"{kind}.submitted",
        ),
        f"{kind} comment": (
            lambda house: walk(house).in_review(make()),
            lambda house, v: walk(house).comment(v),
            f"{kind}.reviewed",
        ),
        f"{kind} approve": (
            lambda house: walk(house).in_review(make()),
            lambda house, v: walk(house).approve(v),
            f"{kind}.approved",
        ),
        f"{kind} reject": (
            lambda house: walk(house).in_review(make()),
            lambda house, v: walk(house).decide("reject", v),
            f"{kind}.rejected",
        ),
        f"{kind} request changes": (
            lambda house: walk(house).in_review(make()),
            lambda house, v: walk(house).decide("request_changes", v),
            f"{kind}.changes_requested",
        ),
        f"{kind} publish": (
            lambda house: walk(house).approved(make()),
            lambda house, v: walk(house).publish(v),
            f"{kind}.published",
        ),
        f"{kind} replace": (
            lambda house: (
                walk(house).published(make()),
                walk(house).approved(make(version="1.1.0")),
            ),
            lambda house, both: walk(house).publish(both[1]),
            f"{kind}.deprecated",
        ),
        f"{kind} roll back": (
            lambda house: (
                walk(house).published(make()),
                walk(house).published(make(version="1.1.0")),
            ),
            lambda house, both: walk(house).publish(both[0]),
            f"{kind}.rolled_back",
        ),
        f"{kind} retire": (
            lambda house: walk(house).published(make()),
            lambda house, v: walk(house).retire(v),
            f"{kind}.retired",
        ),
    }


def _quarantine(house: House, version: Any) -> Any:
    return quarantine_capability(
        version_id=version.pk,
        capability_id="orders.lookup",
        reason="The live schema differs.",
        actor=house.actor("operator"),
    )


STEPS |= _document_steps("context_pack", pack_walk, pack)
STEPS |= _document_steps("policy_bundle", policy_walk, bundle)
STEPS |= {
    "enforce": (
        lambda house: policy_walk(house).published(bundle(), shadow=True),
        lambda house, v: policy_walk(house).publish(v),
        "policy_bundle.enforced",
    ),
    "quarantine": (
        lambda house: house.published(orders()),
        _quarantine,
        "capability.quarantined",
    ),
    "release": (
        lambda house: _quarantine(house, house.published(orders())),
        lambda house, row: release_capability(
            quarantine_id=row.pk, reason="Looked at it.", actor=house.actor("operator")
        ),
        "capability.released",
    ),
}


def _all_rows() -> dict[str, list[dict[str, Any]]]:
    models: list[Any] = [*apps.get_app_config("registry").get_models(), AuditEvent]
    return {
        model.__name__: list(model._default_manager.order_by("pk").values()) for model in models
    }


@pytest.mark.parametrize("step", STEPS)
def test_the_change_is_in_the_log_under_the_name_of_who_made_it(house: House, step: str) -> None:
    prepare, act, action = STEPS[step]
    subject = prepare(house)
    known = set(AuditEvent.objects.values_list("pk", flat=True))
    act(house, subject)
    event = AuditEvent.objects.exclude(pk__in=known).filter(action=action).get()
    assert event.tenant_id == house.tenant_id
    assert event.actor_id.startswith("user_")


@pytest.mark.proves("B2")
@pytest.mark.parametrize("step", STEPS)
def test_a_change_that_can_not_be_recorded_is_not_made(house: House, step: str) -> None:
    prepare, act, action = STEPS[step]
    for name in ("author", "reviewer", "admin", "operator"):
        house.user(name)
    subject = prepare(house)
    before = _all_rows()
    refused = pytest.raises(DatabaseError, match="the log is full")
    with _log_refusing(action), refused, transaction.atomic():
        act(house, subject)
    assert _all_rows() == before


def test_every_action_of_the_registry_is_written_by_some_step() -> None:
    written = {action for _, _, action in STEPS.values()}
    others = {"adapter_version.deprecated", "adapter_version.rolled_back"}  # test_lifecycle_table
    assert written | others == set(ACTIONS)


class _log_refusing:  # noqa: N801  reads as a phrase in the `with` above
    """The log's own table refuses the event, as it would when the disk is full."""

    def __init__(self, action: str) -> None:
        self._action = action

    def __enter__(self) -> None:
        with connection.cursor() as cursor:
            for statement in self._statements():
                cursor.execute(statement)

    def __exit__(self, *fault: object) -> None:
        on_table = " ON audit_auditevent" if connection.vendor == "postgresql" else ""
        with connection.cursor() as cursor:
            cursor.execute(f"DROP TRIGGER log_full{on_table}")

    def _statements(self) -> list[str]:
        head = "CREATE TRIGGER log_full BEFORE INSERT ON audit_auditevent FOR EACH ROW"
        if connection.vendor == "sqlite":
            return [
                (
                    f"{head} WHEN NEW.action = '{self._action}' "
                    "BEGIN SELECT RAISE(ABORT, 'the log is full'); END"
                )
            ]
        return [
            (
                "CREATE OR REPLACE FUNCTION log_full() RETURNS trigger LANGUAGE plpgsql AS "
                "$$ BEGIN RAISE EXCEPTION 'the log is full'; END $$"
            ),
            f"{head} WHEN (NEW.action = '{self._action}') EXECUTE FUNCTION log_full()",
        ]
