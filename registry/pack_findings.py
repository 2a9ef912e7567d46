"""What is wrong with a Context Pack, and what in it the registry does not know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from contextos.core.modes import ApprovalMode
from registry.known_names import KnownNames, known_names
from registry.models import PolicyBundleVersion
from registry.packs import check_pack
from registry.readiness.findings import Finding, Severity
from registry.schema_explain import show

_NAMED = ("adapter_id", "capability")


def examine_pack(tenant_id: str, document: Mapping[str, Any]) -> tuple[Finding, ...]:
    """Everything a submission or a reviewer has to know."""
    blocking = tuple(_blocking(document))
    return blocking or tuple(_warnings(tenant_id, document))


def with_exact_adapters(tenant_id: str, document: dict[str, Any]) -> dict[str, Any]:
    """The pack with every permission naming its adapter by its exact id, where there is one."""
    permissions = list(_permissions(document))
    if not permissions:
        return document
    names = known_names(tenant_id)
    settled = [_with_exact_adapter(permission, names) for permission in permissions]
    layer = {**document["tooling_layer"], "permissions": settled}
    return {**document, "tooling_layer": layer}


def _with_exact_adapter(permission: Any, names: KnownNames) -> Any:
    given = permission.get("adapter_id") if isinstance(permission, dict) else None
    meant = names.adapter_meant(given) if isinstance(given, str) else None
    return permission if meant is None else {**permission, "adapter_id": meant}


def _permissions(document: Mapping[str, Any]) -> list[Any]:
    """Of a draft that may still hold anything."""
    layer = document.get("tooling_layer")
    found = layer.get("permissions") if isinstance(layer, dict) else None
    return found if isinstance(found, list) else []


# --- blocking ------------------------------------------------------------------------------------
def _blocking(document: Mapping[str, Any]) -> Iterator[Finding]:
    wildcards = {finding.pointer: finding for finding in _wildcards(document)}
    yield from wildcards.values()
    for problem in check_pack(document):
        if problem.pointer not in wildcards:
            yield Finding(
                "pack.invalid",
                Severity.BLOCK,
                problem.pointer,
                problem.message,
                "Correct this place; the schema is context-pack.v1 under /schemas/.",
            )


def _wildcards(document: Mapping[str, Any]) -> Iterator[Finding]:
    for index, permission in enumerate(_permissions(document)):
        for member in _NAMED:
            value = permission.get(member) if isinstance(permission, dict) else None
            if isinstance(value, str) and "*" in value:
                yield Finding(
                    "permission.wildcard",
                    Severity.BLOCK,
                    f"/tooling_layer/permissions/{index}/{member}",
                    f"{show(value)} holds a wildcard, and a permission names one capability.",
                    "Write one permission for each capability that is needed.",
                )


# --- to be accepted by a reviewer ----------------------------------------------------------------
def _warnings(tenant_id: str, document: Mapping[str, Any]) -> Iterator[Finding]:
    names = known_names(tenant_id)
    for index, permission in enumerate(_permissions(document)):
        place = f"/tooling_layer/permissions/{index}"
        yield from _unknown_names(permission, place, names)
    yield from _unknown_bundles(tenant_id, document)


def _unknown_names(
    permission: Mapping[str, Any], place: str, names: KnownNames
) -> Iterator[Finding]:
    adapter_id, capability = permission["adapter_id"], permission["capability"]
    if names.adapter_meant(adapter_id) is None:
        yield Finding(
            "permission.adapter_unknown",
            Severity.WARN,
            f"{place}/adapter_id",
            f"The registry has no adapter {show(adapter_id)}.",
            "Check the spelling, or publish the adapter first; until then nothing is permitted.",
        )
        return
    mode = names.mode_of(adapter_id, capability)
    if mode is None:
        yield Finding(
            "permission.capability_unknown",
            Severity.WARN,
            f"{place}/capability",
            f"{adapter_id} has published no capability {show(capability)}.",
            "Check the spelling, or publish the capability; until then nothing is permitted.",
        )
    elif _is_above(permission.get("approval_mode"), mode):
        yield Finding(
            "permission.mode_above_maximum",
            Severity.WARN,
            f"{place}/approval_mode",
            f"The permission says {permission['approval_mode']}; {mode} is the declared maximum.",
            "Lower the mode of the permission: the declared maximum holds in any case.",
        )


def _is_above(permitted: Any, declared: str) -> bool:
    return permitted is not None and ApprovalMode(permitted) > ApprovalMode(declared)


def _unknown_bundles(tenant_id: str, document: Mapping[str, Any]) -> Iterator[Finding]:
    refs = document.get("policy_layer", {}).get("bundle_refs", ())
    if not refs:
        return
    rows = PolicyBundleVersion.objects.filter(tenant_id=tenant_id)
    known = set(rows.values_list("bundle_id", flat=True))
    for index, ref in enumerate(refs):
        if ref.partition("@")[0] not in known:
            yield Finding(
                "pack.bundle_unknown",
                Severity.WARN,
                f"/policy_layer/bundle_refs/{index}",
                f"There is no policy bundle {show(ref)}.",
                "Publish the bundle before runs carry the pack: without it every call is refused.",
            )
