"""Queries whose SQL is written once find what their querysets find."""

from __future__ import annotations

import pytest
from django.db.models import BooleanField, ExpressionWrapper, Q, QuerySet

from contextos.fixed_query import FixedQuery
from gateway.models import Run
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


def test_a_parameter_that_the_query_does_not_use_is_a_mistake_of_its_author() -> None:
    query = FixedQuery(lambda run_id, unused: Run.objects.filter(pk=run_id), "run_id", "unused")
    with pytest.raises(ValueError, match="unused"):
        query.model(run_id="run_1", unused="x")
