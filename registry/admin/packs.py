"""Admin pages of Context Packs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.contrib import admin

from contextos.adminkit.actions import display
from contextos.core.text import single_line
from registry.admin.documents import DocumentAdmin
from registry.manifest.access import mapping, objects, text, texts
from registry.models import ContextPackVersion, PackReview
from registry.policy.constraints import KEYWORDS
from registry.services import packs
from registry.services.packs import CONTEXT_PACKS, PACK_DOCUMENTS, PACK_LIFECYCLE


@admin.register(ContextPackVersion)
class ContextPackAdmin(DocumentAdmin):
    """Which capabilities exist for which runs."""

    kind = CONTEXT_PACKS
    lifecycle = PACK_LIFECYCLE
    document_kind = PACK_DOCUMENTS
    document_services = packs
    reviews_of = PackReview
    example = settings.BASE_DIR / "examples" / "packs" / "support_refund.json"
    noun = "Context Pack"
    contents_template = "registry/parts/pack_contents.html"
    contents_title = "Permissions"
    list_display = [
        "shown_version",
        "shown_state",
        "shown_intents",
        "permissions",
        "found",
        "progress",
        "author",
        "since",
    ]
    search_fields = ["pack_id", "version", "owner_role", "=version_id"]
    search_help_text = "Pack, number, owner or exact version id."
    nav_icon = "inventory_2"
    nav_order = 32
    nav_badge = "registry.panels.packs_in_review"
    empty_title = "No Context Packs yet"
    empty_text = (
        "A Context Pack says which capabilities exist for a run: for which role, intent and "
        "environment, with which bounds. Without one an agent can call nothing."
    )
    empty_action = ("Write your first pack", "admin:registry_contextpackversion_new")

    @display(description="Intents")
    def shown_intents(self, version: ContextPackVersion) -> str:
        """What runs may be opened for with it."""
        return single_line(", ".join(map(str, version.intents)), limit=80)

    @display(description="Permissions", ordering="permission_count")
    def permissions(self, version: ContextPackVersion) -> int:
        """How many it holds."""
        return version.permission_count

    def contents(self, document: dict[str, Any]) -> dict[str, Any]:
        """The permissions as a table; a draft may hold anything."""
        permissions = objects(mapping(document, "tooling_layer"), "permissions")
        specs = objects(mapping(document, "decision_layer"), "decision_specs")
        return {
            "permissions": [_permission_row(item) for _, item in permissions],
            "bundle_refs": texts(mapping(document, "policy_layer"), "bundle_refs"),
            "decision_specs": [item for _, item in specs],
            "intents": texts(document, "intents"),
        }

    def consequences(self, verb: str, version: Any) -> list[str]:
        """What a button sets in motion."""
        return _CONSEQUENCES[verb]


_CONSEQUENCES = {
    "submit": [
        "It can't be edited any more; a change is a new version.",
        "Somebody who did not write on it has to approve it.",
    ],
    "publish": [
        "It is signed, and new runs for its intents carry it from their next call on.",
        "The version published until now is deprecated: runs that carry it go on with it.",
    ],
    "rollback": [
        "New runs carry this version again; its signature is checked once more.",
        "The version published until now is deprecated: runs that carry it go on with it.",
    ],
    "retire": [
        "It ends for good: runs that carry it are refused from their next call on.",
        "New runs for its intents carry no version of this pack until one is published.",
    ],
}


def _permission_row(item: Mapping[str, Any]) -> dict[str, Any]:
    constraints = item.get("arg_constraints")
    return {
        "id": single_line(str(item.get("permission_id", "")), limit=120),
        "adapter": single_line(str(item.get("adapter_id", "")), limit=120),
        "capability": single_line(str(item.get("capability", "")), limit=120),
        "allow": item.get("allow") is True,
        "mode": text(item, "approval_mode"),
        "description": item.get("description", ""),
        "who": _who(item),
        "constraints": [
            f"{path}: {_bounds(bounds)}"
            for path, bounds in (constraints.items() if isinstance(constraints, dict) else ())
        ],
    }


def _who(item: Mapping[str, Any]) -> list[str]:
    return [
        f"{label}: {', '.join(map(str, item[name]))}"
        for name, label in (("roles", "role"), ("intents", "intent"), ("environments", "in"))
        if isinstance(item.get(name), list)
    ]


def _bounds(bounds: Any) -> str:
    if not isinstance(bounds, dict):
        return "can't be read"
    words = [
        f"one of {', '.join(map(str, value))}"
        if name == "enum" and isinstance(value, list)
        else f"{name} {value}"
        for name in KEYWORDS
        if name != "required" and (value := bounds.get(name)) is not None
    ]
    return ", ".join((["required"] if bounds.get("required") is True else []) + words)
