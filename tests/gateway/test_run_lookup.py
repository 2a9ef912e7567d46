"""Queries whose SQL is written once find what their querysets find."""

from __future__ import annotations

import pytest
from django.db import connection
from django.db.models import BooleanField, ExpressionWrapper, Q, QuerySet, Value

from contextos.fixed_query import FixedQuery
from contextos.plain_models import blank, plain_model
from gateway.models import Run, ToolCall
from gateway.run_lookup import _OWN_RUN
from tests.gateway.world import GatewayWorld
from tests.recorded_worlds import ready

pytestmark = pytest.mark.django_db


def _in_production(run_id: str, tenant_id: str) -> QuerySet[Run]:
    runs = Run.objects.filter(run_id=run_id, tenant_id=tenant_id, environment="production")
    unused = ExpressionWrapper(Q(used_calls=0), output_field=BooleanField())
    return runs.annotate(is_new=unused)


def test_a_fixed_query_finds_what_its_queryset_finds_whatever_the_parameters() -> None:
    world, query = ready(GatewayWorld), FixedQuery(_in_production, "run_id", "tenant_id")
    for _ in range(2):
        opened = world.open_run()
        found = query.model(run_id=opened["run_id"], tenant_id=world.tenant_id)
        expected = _in_production(opened["run_id"], world.tenant_id).get()
        assert found is not None
        names = [*(field.attname for field in Run._meta.concrete_fields), "is_new"]
        assert [getattr(found, n) for n in names] == [getattr(expected, n) for n in names]
        assert (found.is_new, found._state.adding) == (True, False)  # type: ignore[attr-defined]
    assert query.model(run_id=opened["run_id"], tenant_id="tenant_other") is None


def test_a_model_put_together_plainly_is_the_one_that_django_makes() -> None:
    said = {"tool_call_id": "tool_1", "tenant_id": "tenant_1", "attempts": 2}
    ours = plain_model(ToolCall, {**blank(ToolCall), **said}, stored=False)
    theirs = ToolCall(**said)
    names = [field.attname for field in ToolCall._meta.concrete_fields]
    assert [getattr(ours, n) for n in names] == [getattr(theirs, n) for n in names]
    assert (ours._state.db, ours._state.adding) == (theirs._state.db, theirs._state.adding)
    assert vars(ours).keys() == vars(theirs).keys()
    # What is copied from call to call must not be shared by them.
    assert all(value.__hash__ is not None for value in blank(ToolCall).values())


def test_a_parameter_that_the_query_does_not_use_is_a_mistake_of_its_author() -> None:
    query = FixedQuery(lambda run_id, unused: Run.objects.filter(pk=run_id), "run_id", "unused")
    with pytest.raises(ValueError, match="unused"):
        query.model(run_id="run_1", unused="x")


@pytest.mark.proves("C12")
def test_a_long_run_costs_no_more_to_look_up_than_a_short_one() -> None:
    """Every call asks whether its run has failures: by the index of failed calls, not call by call.

    A statement is planned once for all parameters, and an index over some rows only is of use to
    it only where the condition stands in its text.
    """
    if connection.vendor != "postgresql":
        pytest.skip("SQLite plans each statement anew")
    sql = _OWN_RUN._statement().sql
    kinds = ", ".join(["text"] * sql.count("$"))
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(f"PREPARE own_run ({kinds}) AS {sql}")
        cursor.execute(f"EXPLAIN EXECUTE own_run ({', '.join(['NULL'] * sql.count('$'))})")
        plan = "\n".join(row[0] for row in cursor.fetchall())
        cursor.execute("DEALLOCATE own_run")
    assert "call_failures" in plan, plan


def test_a_text_that_never_changes_may_hold_any_character() -> None:
    hostile = "100%s 'quoted' \\ %% $1"
    query = FixedQuery(
        lambda run_id: Run.objects.filter(pk=run_id).annotate(said=Value(hostile)), "run_id"
    )
    opened = ready(GatewayWorld).open_run()
    found = query.model(run_id=opened["run_id"])
    assert found is not None
    assert found.said == hostile
