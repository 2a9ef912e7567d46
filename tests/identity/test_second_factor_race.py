"""One code, many requests at once: it counts once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection

from contextos.identity import second_factor
from contextos.identity.models import User
from tests.adminkit.world import TESTER, code_at, give_factor, make_person, make_tenant

pytestmark = pytest.mark.django_db(transaction=True)
RACERS = 6


@pytest.fixture
def person() -> User:
    return make_person("pat", make_tenant(), "platform_admin")


def winners_of(attempt: Callable[[], object]) -> int:
    start = Barrier(RACERS)

    def run(_: int) -> bool:
        try:
            start.wait(10)
            return attempt() is not None
        finally:
            connection.close()

    with ThreadPoolExecutor(RACERS) as pool:
        return sum(pool.map(run, range(RACERS)))


def test_an_app_code_raced_by_many_requests_counts_once(person: User) -> None:
    code = code_at(give_factor(person))
    assert winners_of(lambda: second_factor.verify_code(user=person, code=code)) == 1
    assert second_factor.verify_code(user=person, code=code) is None


def test_a_recovery_code_raced_by_many_requests_counts_once(person: User) -> None:
    code = second_factor.issue_recovery_codes(user=person, actor=TESTER)[0]
    assert winners_of(lambda: second_factor.verify_code(user=person, code=code)) == 1
    assert second_factor.recovery_codes_left(person) == 9
