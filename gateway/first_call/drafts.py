"""Drafts of the pack and the policy that a first read needs; they are reviewed like all others."""

from __future__ import annotations

from typing import Any

from contextos.core.events import Actor
from contextos.identity.models import Agent, User
from registry.capability_names import operation_of
from registry.models import Capability, ContextPackVersion, PolicyBundleVersion
from registry.services import packs, policies

POLICY_ID = "reading"
POLICY_PRIORITY = 100


def draft_pack(
    *, capability: Capability, agent: Agent, pack_id: str, intent: str, author: User, actor: Actor
) -> ContextPackVersion:
    """A pack that permits this one read to the agent's role, for one intent."""
    return packs.create_draft(
        tenant_id=capability.tenant_id,
        document=_pack(capability, agent, pack_id, intent),
        author=author,
        actor=actor,
    )


def draft_policy(*, capability: Capability, author: User, actor: Actor) -> PolicyBundleVersion:
    """A policy with one rule that allows this read, and a test that shows it."""
    return policies.create_draft(
        tenant_id=capability.tenant_id,
        document=_policy(capability),
        author=author,
        actor=actor,
    )


def _pack(capability: Capability, agent: Agent, pack_id: str, intent: str) -> dict[str, Any]:
    operation = operation_of(capability.capability_id)
    permission = {
        "permission_id": f"perm_{operation.replace('.', '_')}",
        "adapter_id": capability.version.adapter.adapter_id,
        "capability": capability.capability_id,
        "allow": True,
        "approval_mode": "read_only",
        "roles": [agent.role],
        "intents": [intent],
        "environments": [capability.environment],
        "description": "The first governed call: one read, nothing else.",
    }
    return {
        "pack_id": pack_id,
        "owner_role": agent.role,
        "intents": [intent],
        "tooling_layer": {"permissions": [permission]},
    }


def _policy(capability: Capability) -> dict[str, Any]:
    name = capability.capability_id
    rule_id = f"allow_{name.replace('.', '_')}"
    facts = {
        "capability_id": name,
        "adapter_id": capability.version.adapter.adapter_id,
        "capability_class": capability.capability_class,
        "approval_mode": "read_only",
    }
    return {
        "bundle_id": POLICY_ID,
        "priority": POLICY_PRIORITY,
        "description": "What may be read.",
        "rules": [
            {
                "rule_id": rule_id,
                "description": f"{name} only reads.",
                "applies_to": {"capability": name},
                "if": True,
                "then": {"allow": True, "approval_mode": "read_only"},
            }
        ],
        "tests": [
            {
                "name": f"{name} is allowed",
                "input": {"capability": facts, "request": {"args": {}}},
                "expect": {"allowed": True, "matched_rule_ids": [rule_id]},
            }
        ],
    }
