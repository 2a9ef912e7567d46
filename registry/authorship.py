"""Who wrote what a call rests on; none of them may approve that call (D3)."""

from __future__ import annotations

from collections.abc import Iterable

from registry.models import AdapterVersion, PolicyBundleVersion


def authors_of_version(version_id: str) -> set[str]:
    """user_ids of everybody who wrote on a manifest version."""
    rows = AdapterVersion.objects.filter(pk=version_id)
    return _named(rows.values_list("author__user_id", "editors"))


def authors_of_bundles(tenant_id: str, refs: Iterable[str]) -> set[str]:
    """user_ids of everybody who wrote on the policy bundle versions that decided."""
    wanted = {tuple(ref.split("@", 1)) for ref in refs if "@" in ref}
    rows = PolicyBundleVersion.objects.filter(
        tenant_id=tenant_id, bundle_id__in=[bundle_id for bundle_id, _ in wanted]
    )
    named = rows.values_list("bundle_id", "version", "author__user_id", "editors")
    return _named((author, editors) for b, v, author, editors in named if (b, v) in wanted)


def _named(rows: Iterable[tuple[str, list[str]]]) -> set[str]:
    return {user_id for author, editors in rows for user_id in (author, *editors)}
