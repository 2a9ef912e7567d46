"""Context Packs: which capabilities exist for a run. Pure; tables and services live elsewhere."""

from registry.packs.documents import check_pack, parse_pack
from registry.packs.permissions import (
    PermissionMatch,
    RunScope,
    match_permissions,
    read_permission,
)
from registry.packs.types import ContextPack, DecisionSpec, Permission

__all__ = [
    "ContextPack",
    "DecisionSpec",
    "Permission",
    "PermissionMatch",
    "RunScope",
    "check_pack",
    "match_permissions",
    "parse_pack",
    "read_permission",
]
