"""What the rules of recorded policy bundles say of themselves, by the bundles' digests."""

from __future__ import annotations

from collections.abc import Iterable

from audit.artefacts import read_artefact
from contextos.core import strict_json
from contextos.core.errors import ContextOSError

_MOST_BYTES = 16 * 1024 * 1024


def rule_descriptions(*, tenant_id: str, digests: Iterable[str]) -> dict[str, str]:
    """`rule_id` -> its description; of a bundle that is gone or damaged, nothing."""
    found: dict[str, str] = {}
    for digest in digests:
        try:
            content = read_artefact(tenant_id=tenant_id, digest=digest)
            bundle = strict_json.loads_object(content, max_bytes=_MOST_BYTES)
        except ContextOSError:
            continue
        rules = bundle.get("rules")
        for rule in rules if isinstance(rules, list) else ():
            if isinstance(rule, dict) and rule.get("description"):
                found.setdefault(str(rule.get("rule_id")), str(rule["description"]))
    return found
