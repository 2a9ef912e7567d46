"""Queries whose SQL is written once find what their querysets find."""

from __future__ import annotations

import pytest
from django.db.models import QuerySet

from contextos.fixed_query import FixedQuery
from gateway.models import Run
from tests.gateway.world import GatewayWorld

pytestmark = pytest.mark.django_db


def _in_production(run_id: str, tenant_id: str) -> QuerySet[Run]:
    return Run.objects.filter(run_id=run_id, tenant_id=tenant_id, environment="production")


def test_a_fixed_query_finds_what_its_queryset_finds_whatever_the_parameters() -> None:
    world, query = GatewayWorld(), FixedQuery(_in_production, "run_id", "tenant_id")
    for _ in range(2):
        opened = world.open_run()
        (found,) = query.models(run_id=opened["run_id"], tenant_id=world.tenant_id)
        expected = Run.objects.get(pk=opened["run_id"])
        assert (found.pk, found.document) == (expected.pk, expected.document)
        assert (found.created_at, bytes(found.salt)) == (expected.created_at, bytes(expected.salt))
    assert not list(query.models(run_id=opened["run_id"], tenant_id="tenant_other"))


def test_a_parameter_that_the_query_does_not_use_is_a_mistake_of_its_author() -> None:
    query = FixedQuery(lambda run_id, unused: Run.objects.filter(pk=run_id), "run_id", "unused")
    with pytest.raises(ValueError, match="unused"):
        list(query.models(run_id="run_1", unused="x"))
