"""The review machinery is tested on its first kind, adapter versions."""

from tests.registry.conftest import house, neighbour  # noqa: F401 - fixtures
