"""A Context Pack document: checked, then read into frozen types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from contextos.core.canonical import digest
from registry.documents import canonical_problems, refusal, schema_problems
from registry.packs.permissions import read_permission
from registry.packs.types import ContextPack, DecisionSpec
from registry.policy.constraints import constraint_problems
from registry.schema_explain import show
from registry.skills import meaning_problems, read_skill
from registry.validation import Problem


def check_pack(document: Any) -> tuple[Problem, ...]:
    """Everything that forbids publishing a pack, without looking at any other artefact."""
    return (
        schema_problems(document, "context-pack")
        or canonical_problems(document)
        or tuple(_meaning_problems(document))
    )


def parse_pack(document: Any) -> ContextPack:
    """Check and read a pack; raises `context_pack.invalid` with every fault named."""
    problems = check_pack(document)
    if problems:
        raise refusal("context_pack.invalid", problems)
    context = document.get("context_layer", {})
    return ContextPack(
        pack_id=document["pack_id"],
        version=document["version"],
        owner_role=document["owner_role"],
        intents=tuple(document["intents"]),
        permissions=tuple(map(read_permission, _permissions(document))),
        digest=digest(document),
        bundle_refs=tuple(document.get("policy_layer", {}).get("bundle_refs", ())),
        decision_specs=tuple(map(_decision_spec, _specs(document))),
        skills=tuple(map(read_skill, document.get("skills", ()))),
        resources=tuple(context.get("resources", ())),
        prompts=tuple(context.get("prompts", ())),
    )


def _permissions(document: Mapping[str, Any]) -> list[Any]:
    found: list[Any] = document["tooling_layer"]["permissions"]
    return found


def _specs(document: Mapping[str, Any]) -> list[Any]:
    found: list[Any] = document.get("decision_layer", {}).get("decision_specs", [])
    return found


def _decision_spec(raw: Mapping[str, Any]) -> DecisionSpec:
    return DecisionSpec(
        decision_key=raw["decision_key"],
        version=raw["version"],
        owner_role=raw["owner_role"],
        required_evidence=tuple(raw.get("required_evidence", ())),
        allowed_outcomes=tuple(raw.get("allowed_outcomes", ())),
        approval_mode=raw.get("approval_mode"),
    )


def _meaning_problems(document: Mapping[str, Any]) -> Iterator[Problem]:
    permissions = _permissions(document)
    yield from _repeated(
        "/tooling_layer/permissions", "permission_id", (p["permission_id"] for p in permissions)
    )
    yield from _repeated(
        "/decision_layer/decision_specs",
        "decision_key",
        (s["decision_key"] for s in _specs(document)),
    )
    for index, permission in enumerate(permissions):
        place = f"/tooling_layer/permissions/{index}"
        constraints = permission.get("arg_constraints", {})
        yield from constraint_problems(constraints, f"{place}/arg_constraints")
        yield from _foreign_intents(permission, document["intents"], place)
    skills = document.get("skills", ())
    yield from _repeated("/skills", "skill_id", (s["skill_id"] for s in skills))
    for index, skill in enumerate(skills):
        yield from meaning_problems(skill, f"/skills/{index}")


def _repeated(place: str, name: str, values: Iterable[str]) -> Iterator[Problem]:
    for value, times in Counter(values).items():
        if times > 1:
            yield Problem(place, f"The {name} {show(value)} is used {times} times.", name)


def _foreign_intents(
    permission: Mapping[str, Any], intents: list[str], place: str
) -> Iterator[Problem]:
    for intent in permission.get("intents", ()):
        if intent not in intents:
            message = f"The pack does not serve the intent {show(intent)}."
            yield Problem(f"{place}/intents", message, "intents")
