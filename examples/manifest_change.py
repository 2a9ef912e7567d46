"""A change of what an adapter promises, for the examples: reviewed by others, published."""

from __future__ import annotations

from typing import Any

from person import with_new_token
from ready import Demo

ADAPTER = "adapters/adp_payments_mcp"
VERSIONS = f"{ADAPTER}/versions"


def lower_the_limit(here: Demo) -> tuple[str, int]:
    """One refund may be smaller from now on; the version published, and the new limit."""
    author = with_new_token(here, "author")
    published = author.send("GET", ADAPTER)["active"][0]["version"]
    manifest = author.send("GET", f"{VERSIONS}/{published}")["manifest"]
    changed, limit = _with_lower_limit(manifest, _next_version(author.send("GET", VERSIONS)))
    version = f"{VERSIONS}/{changed['version']}"
    author.send("POST", VERSIONS, changed)
    waiting = author.send("POST", f"{version}/submit", {})
    for name in ("reviewer", "reviewer2"):  # never the author, and two where the risk is high
        if waiting["state"] != "approved":
            reviewer = with_new_token(here, name)
            findings = reviewer.send("GET", f"{version}/findings")["results"]
            accepted = [item["id"] for item in findings if item["severity"] == "warn"]
            yes = {"reason": "Less risk, not more.", "accepted_warnings": accepted}
            waiting = reviewer.send("POST", f"{version}/approve", yes)
    with_new_token(here, "admin").send("POST", f"{version}/publish", {"rollout_notes": "Smaller."})
    return str(changed["version"]), limit


def _with_lower_limit(manifest: dict[str, Any], version: str) -> tuple[dict[str, Any], int]:
    refund = next(c for c in manifest["capabilities"] if c["capability_id"].endswith("refund"))
    limit = refund["arg_constraints"]["amount_inr"]
    limit["max"] -= 100
    return {**manifest, "version": version}, int(limit["max"])


def _next_version(known: dict[str, Any]) -> str:
    """Above every version there is, published or not."""
    numbers = [tuple(map(int, item["version"].split("."))) for item in known["results"]]
    major, minor, patch = max(numbers)
    return f"{major}.{minor}.{patch + 1}"
