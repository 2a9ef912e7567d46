"""The demo's Context Pack and policies: written, reviewed, signed and published for real."""

from __future__ import annotations

from collections.abc import Mapping

from contextos.demo.documents import Desk, example
from contextos.identity.models import User
from registry.models import ContextPackVersion, PolicyBundleVersion
from registry.services import packs, policies

_PACKS = ("packs/support_refund.json", "packs/support_desk.json")
_POLICY = "policies/refunds.json"
_PROPOSED_POLICY = "policies/refunds_v2.json"
_AGREED = "Read in full; it says what finance and support agreed on."


def build_policies(people: Mapping[str, User], *, tenant_id: str) -> None:
    """Publish policy and pack where missing, and propose a change; twice changes nothing."""
    policy_desk = Desk(
        people, tenant_id, PolicyBundleVersion, policies, policies.POLICY_LIFECYCLE, _AGREED
    )
    pack_desk = Desk(people, tenant_id, ContextPackVersion, packs, packs.PACK_LIFECYCLE, _AGREED)
    policy, proposed = example(_POLICY), example(_PROPOSED_POLICY)
    if not policy_desk.knows(policy):
        policy_desk.publish(policy)
    for pack in map(example, _PACKS):
        if not pack_desk.knows(pack):
            pack_desk.publish(pack)
    if not policy_desk.knows(proposed):
        policy_desk.submit(proposed)
