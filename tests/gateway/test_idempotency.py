"""Keys: their scope, their place, their fingerprint (C9)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError
from gateway.idempotency import (
    KeyScope,
    fingerprint,
    forget_expired_keys,
    new_salt,
    same_fingerprint,
    settle_key,
)
from gateway.models import IdempotencyKey, ToolCall
from tests.gateway.world import GatewayWorld
from tests.recorded_worlds import ready

SCOPE = KeyScope("tenant_one", "agent_1", "user_1", "payments.issue_refund")
ARGS = st.dictionaries(
    st.text(max_size=5).filter(lambda t: "\x00" not in t and t.isprintable()),
    st.integers(-1000, 1000) | st.booleans() | st.none(),
    max_size=5,
)


@pytest.mark.proves("C9")
@pytest.mark.parametrize("member", ["tenant_id", "agent_id", "user_id", "capability_id"])
def test_a_key_of_somebody_else_is_another_key(member: str) -> None:
    assert replace(SCOPE, **{member: "other"}).hash_of("ik_1") != SCOPE.hash_of("ik_1")


def test_parts_of_a_scope_cannot_be_shifted_into_each_other() -> None:
    left, right = KeyScope("a", "b_c", "", "x.y"), KeyScope("a", "b", "_c", "x.y")
    assert left.hash_of("k") != right.hash_of("k")


def test_a_key_at_the_top_is_copied_where_the_schema_has_it() -> None:
    assert settle_key("ik_1", {}, schema_has_member=True).args == {"idempotency_key": "ik_1"}
    assert settle_key("ik_1", {}, schema_has_member=False).args == {}


def test_a_key_only_in_the_arguments_is_the_key() -> None:
    settled = settle_key(None, {"idempotency_key": "ik_1"}, schema_has_member=True)
    assert settled.key == "ik_1"


def test_two_different_keys_are_refused() -> None:
    with pytest.raises(ContextOSError) as refused:
        settle_key("ik_1", {"idempotency_key": "ik_2"}, schema_has_member=True)
    assert refused.value.code == "idempotency.conflict"


@pytest.mark.proves("C9")
@pytest.mark.parametrize("key", ["ik_1\n", " ik_1", "ik_1\u200b", "ik\t1", "ik_1\u00a0"])
def test_a_key_with_what_nobody_sees_is_refused(key: str) -> None:
    with pytest.raises(ContextOSError) as refused:
        settle_key(key, {}, schema_has_member=False)
    assert refused.value.code == "idempotency.malformed"


@pytest.mark.parametrize("key", ["", "x" * 256])
def test_a_key_of_impossible_length_is_refused(key: str) -> None:
    with pytest.raises(ContextOSError) as refused:
        settle_key(key, {}, schema_has_member=False)
    assert refused.value.code == "idempotency.malformed"


@pytest.mark.proves("C9")
@given(args=ARGS, other=ARGS)
def test_only_the_same_arguments_have_the_same_fingerprint(
    args: dict[str, object], other: dict[str, object]
) -> None:
    salt = new_salt()
    stated = fingerprint(salt, args)
    assert same_fingerprint(stated, salt, dict(reversed(args.items())))
    same = args == other and [type(v) for v in args.values()] == [type(v) for v in other.values()]
    if not same:
        assert same_fingerprint(stated, salt, other) is (args == other and _alike(args, other))


def _alike(one: dict[str, object], two: dict[str, object]) -> bool:
    return all(type(one[name]) is type(two[name]) for name in one)


def test_without_its_salt_a_fingerprint_tells_nothing() -> None:
    args = {"amount_inr": 4200}
    assert fingerprint(new_salt(), args) != fingerprint(new_salt(), args)


@pytest.mark.django_db
@pytest.mark.usefixtures("function_runner")
def test_expired_keys_are_forgotten_but_never_while_their_call_is_open() -> None:
    world = ready(GatewayWorld, with_work=True)
    run = world.open_run()
    for key, capability, args in (
        ("ik_done", "orders.lookup", {"order_id": "ord_0001"}),
        ("ik_open", "notes.add", {"text": "x"}),
    ):
        body = {"run_id": run["run_id"], "capability_id": capability, "args": args}
        world.post("/api/v1/tool-calls", {**body, "idempotency_key": key})
    assert forget_expired_keys(utcnow()) == 0
    assert forget_expired_keys(utcnow() + timedelta(days=30)) == 1
    kept = IdempotencyKey.objects.get()
    assert ToolCall.objects.get(pk=kept.tool_call_id).capability_id == "notes.add"
