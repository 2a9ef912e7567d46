"""All changes to the payments manifest that people have classed."""

from collections.abc import Callable, Iterator

from tests.registry.risk_diff import mutations_of_adapters as adapters
from tests.registry.risk_diff import mutations_of_capabilities as capabilities
from tests.registry.risk_diff import mutations_of_schemas as schemas
from tests.registry.risk_diff.mutation import GONE, Mutation, put

__all__ = ["GONE", "MUTATIONS", "Mutation", "put"]

_FAMILIES: tuple[Callable[[], Iterator[Mutation]], ...] = (
    adapters.adapter_mutations,
    adapters.transport_mutations,
    adapters.auth_mutations,
    capabilities.capability_mutations,
    capabilities.execution_mutations,
    capabilities.constraints_mutations,
    schemas.input_schema_mutations,
    schemas.output_schema_mutations,
    adapters.catalogue_mutations,
    adapters.interaction_mutations,
    adapters.other_transports_mutations,
)
MUTATIONS: tuple[Mutation, ...] = tuple(mutation for family in _FAMILIES for mutation in family())
