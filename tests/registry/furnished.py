"""A house with something in it, for the tests that ask for it by name; the others get it empty."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.recorded_worlds import ready
from tests.registry.house import House, staffed


def house_or(name: str, make: Callable[[], House]) -> tuple[Any, Any]:
    """The fixtures `house` and `name`: one tenant, made by `make` where a test asks for `name`."""

    @pytest.fixture(name="house")
    def house(request: pytest.FixtureRequest, db: None) -> House:
        return ready(make if name in request.fixturenames else staffed)

    @pytest.fixture(name=name)
    def furnished(house: House) -> House:
        return house

    return house, furnished
