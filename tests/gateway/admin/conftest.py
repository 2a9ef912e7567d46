"""The houses of the registry's tests, whose versions name icons."""

from tests.registry.conftest import house, neighbour

__all__ = ["house", "neighbour"]
