"""The tenant of the figures' tests: its calls and votes are what reports tell about."""

from tests.gateway.conftest import function_runner, ledger  # noqa: F401 - fixtures
from tests.gateway.figures.conftest import traffic, world  # noqa: F401 - fixtures
