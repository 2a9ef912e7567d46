"""Every endpoint of packs and policies: what exists beforehand, the call, and who may make it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.factories import make_member
from tests.registry.api.calls import Caller
from tests.registry.documents import Document, bundle, pack, refund_input
from tests.registry.house import House
from tests.registry.walks import Walk, pack_walk, policy_walk

READERS = ("admin", "author", "reviewer", "auditor", "operator")
AUTHORS = ("admin", "author")
REVIEWERS = ("admin", "reviewer")
PUBLISHERS = ("admin",)
REASON = {"reason": "Because."}


@dataclass(frozen=True)
class Endpoint:
    """One method of one address."""

    prepare: Callable[[House], Any]
    call: Callable[[Caller, Any], Any]
    status: int
    allowed: tuple[str, ...]
    foreign: bool = True  # whether it addresses something that another tenant must not see


@dataclass(frozen=True)
class Kind:
    """One kind of document, written by somebody whom no test calls as."""

    address: str
    walk: Callable[[House], Walk]
    make: Callable[..., Document]

    def path(self, version: Any, step: str = "") -> str:
        own = f"{self.address}/{version.document_id}/versions/{version.pk}"
        return f"{own}/{step}" if step else own

    def draft(self, house: House) -> Any:
        house._people["unseen"] = make_member(house.tenant, "manifest_author")
        return self.walk(house).draft(self.make(), by="unseen")

    def in_review(self, house: House) -> Any:
        return self.walk(house).submit(self.draft(house), by="unseen")

    def approved(self, house: House) -> Any:
        house._people["unseen_too"] = make_member(house.tenant, "manifest_reviewer")
        return self.walk(house).approve(self.in_review(house), by="unseen_too")


PACKS = Kind("packs", pack_walk, pack)
POLICIES = Kind("policies", policy_walk, bundle)


def _warnings(version: Any) -> dict[str, Any]:
    return {**REASON, "accepted_warnings": [item["id"] for item in version.findings]}


def _endpoints(kind: Kind) -> dict[str, Endpoint]:
    name, path = kind.address, kind.path
    return {
        f"GET {name}": Endpoint(kind.draft, lambda c, v: c.get(name), 200, READERS, foreign=False),
        f"POST {name}": Endpoint(
            lambda house: None, lambda c, _: c.post(name, kind.make()), 201, AUTHORS, foreign=False
        ),
        f"GET {name} versions": Endpoint(
            kind.draft, lambda c, v: c.get(f"{name}/{v.document_id}/versions"), 200, READERS
        ),
        f"POST {name} versions": Endpoint(
            kind.draft,
            lambda c, v: c.post(f"{name}/{v.document_id}/versions", kind.make(version="7.0.0")),
            201,
            AUTHORS,
            foreign=False,
        ),
        f"GET {name} version": Endpoint(kind.draft, lambda c, v: c.get(path(v)), 200, READERS),
        f"PUT {name} version": Endpoint(
            kind.draft, lambda c, v: c.put(path(v), kind.make()), 200, AUTHORS
        ),
        f"POST {name} submit": Endpoint(
            kind.draft, lambda c, v: c.post(path(v, "submit")), 200, AUTHORS
        ),
        f"POST {name} approve": Endpoint(
            kind.in_review, lambda c, v: c.post(path(v, "approve"), _warnings(v)), 200, REVIEWERS
        ),
        f"POST {name} reject": Endpoint(
            kind.in_review, lambda c, v: c.post(path(v, "reject"), REASON), 200, REVIEWERS
        ),
        f"POST {name} request-changes": Endpoint(
            kind.in_review, lambda c, v: c.post(path(v, "request-changes"), REASON), 200, REVIEWERS
        ),
        f"POST {name} publish": Endpoint(
            kind.approved, lambda c, v: c.post(path(v, "publish")), 200, PUBLISHERS
        ),
        f"POST {name} retire": Endpoint(
            kind.approved, lambda c, v: c.post(path(v, "retire"), REASON), 200, PUBLISHERS
        ),
    }


DOCUMENT_ENDPOINTS: dict[str, Endpoint] = {
    **_endpoints(PACKS),
    **_endpoints(POLICIES),
    "POST simulate": Endpoint(
        POLICIES.draft,
        lambda c, v: c.post("policies/simulate", {"bundle_ref": v.ref, "input": refund_input()}),
        200,
        READERS,
    ),
}
