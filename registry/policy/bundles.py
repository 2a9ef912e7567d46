"""A policy bundle: checked, then compiled once so that it can be evaluated many times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from contextos.core.canonical import digest
from contextos.core.modes import ApprovalMode
from contextos.core.redaction import RedactionRules
from registry.documents import canonical_problems, refusal, schema_problems
from registry.policy.constraints import constraint_problems
from registry.policy.logic import Condition, check_logic, compile_condition
from registry.policy.selectors import CallScope, Selector
from registry.policy.types import Effect, RuleKind
from registry.schema_explain import show
from registry.validation import Problem

_EVERYWHERE = Selector(())


@dataclass(frozen=True, slots=True)
class CompiledRule:
    """One rule, ready to be asked."""

    rule_id: str
    position: int
    selector: Selector
    condition: Condition
    effect: Effect
    kind: RuleKind


@dataclass(frozen=True, slots=True)
class CompiledGuardrail:
    """A condition no rule can outweigh; a bare flag is the condition that the run carries it."""

    guardrail_id: str
    selector: Selector
    condition: Condition
    gate: str | None = None
    quorum: int | None = None


@dataclass(frozen=True, slots=True)
class Redaction:
    """A name or place to hide for the calls it applies to."""

    hide: str
    selector: Selector


@dataclass(frozen=True)
class CompiledBundle:
    """A checked bundle; callers keep it by `digest`."""

    bundle_id: str
    version: str
    priority: int
    tenant: str | None
    digest: str
    rules: tuple[CompiledRule, ...]
    must_refuse: tuple[CompiledGuardrail, ...] = ()
    must_escalate: tuple[CompiledGuardrail, ...] = ()
    redactions: tuple[Redaction, ...] = ()
    _by_capability: Mapping[str, tuple[CompiledRule, ...]] = field(default_factory=dict)
    _for_any: tuple[CompiledRule, ...] = ()

    @property
    def ref(self) -> str:
        """`bundle_id@version`."""
        return f"{self.bundle_id}@{self.version}"

    def covers_tenant(self, tenant: Any) -> bool:
        """Whether the bundle speaks for this tenant."""
        return self.tenant is None or self.tenant == tenant

    def rules_for(self, scope: CallScope) -> list[CompiledRule]:
        """The rules that apply to a call, in the order of the document."""
        found = {
            rule.position: rule
            for name in scope.names["capability"]
            for rule in self._by_capability.get(name, ())
        }
        found.update((rule.position, rule) for rule in self._for_any)
        return [found[at] for at in sorted(found) if found[at].selector.matches(scope)]

    def redaction_rules(self, scope: CallScope) -> RedactionRules:
        """What has to be hidden in this call's answer."""
        hidden = [item.hide for item in self.redactions if item.selector.matches(scope)]
        return RedactionRules(
            pointers=tuple(sorted(item for item in hidden if item.startswith("/"))),
            names=frozenset(item for item in hidden if not item.startswith("/")),
        )


def redaction_rules_of(
    bundles: Iterable[CompiledBundle], scope: CallScope, tenant: str
) -> RedactionRules:
    """What has to be hidden in a call's answer by any bundle that speaks for the tenant."""
    found = [each.redaction_rules(scope) for each in bundles if each.covers_tenant(tenant)]
    return RedactionRules(
        pointers=tuple(sorted({pointer for rules in found for pointer in rules.pointers})),
        names=frozenset(name for rules in found for name in rules.names),
    )


# -- checking ------------------------------------------------------------------------------------


def check_bundle(document: Any) -> tuple[Problem, ...]:
    """Everything that forbids publishing a bundle; its own tests are run separately."""
    return (
        schema_problems(document, "policy-bundle")
        or canonical_problems(document)
        or tuple(_meaning_problems(document))
    )


def _meaning_problems(document: Mapping[str, Any]) -> Iterator[Problem]:
    yield from _repeated_ids(document)
    for index, rule in enumerate(document["rules"]):
        place = f"/rules/{index}"
        yield from check_logic(rule["if"], f"{place}/if")
        yield from _effect_problems(rule["then"], f"{place}/then")
    for list_name in ("must_refuse", "must_escalate"):
        for index, item in enumerate(document.get("guardrails", {}).get(list_name, ())):
            if isinstance(item, dict):
                yield from check_logic(item["if"], f"/guardrails/{list_name}/{index}/if")


def _repeated_ids(document: Mapping[str, Any]) -> Iterator[Problem]:
    counted = Counter(rule["rule_id"] for rule in document["rules"])
    for rule_id, times in counted.items():
        if times > 1:
            yield Problem(
                "/rules", f"The rule_id {show(rule_id)} is used {times} times.", "rule_id"
            )


def _effect_problems(then: Mapping[str, Any], place: str) -> Iterator[Problem]:
    yield from constraint_problems(then.get("arg_constraints", {}), f"{place}/arg_constraints")
    if "quorum" in then and then.get("requires_approval_gate", "") is None:
        message = "A quorum needs a gate, and this rule removes it."
        yield Problem(f"{place}/quorum", message, "quorum")
    both = sorted(set(then.get("requires", ())) & set(then.get("prohibits", ())))
    if both:
        message = f"{show(both[0])} is required and prohibited at once."
        yield Problem(f"{place}/prohibits", message, "prohibits")


# -- compiling -----------------------------------------------------------------------------------


def compile_bundle(document: Any) -> CompiledBundle:
    """Check and compile a bundle; raises `policy_bundle.invalid` with every fault named."""
    problems = check_bundle(document)
    if problems:
        raise refusal("policy_bundle.invalid", problems)
    rules = tuple(_rule(at, raw) for at, raw in enumerate(document["rules"]))
    guardrails = document.get("guardrails", {})
    return CompiledBundle(
        bundle_id=document["bundle_id"],
        version=document["version"],
        priority=document["priority"],
        tenant=document.get("tenant"),
        digest=digest(document),
        rules=rules,
        must_refuse=tuple(map(_guardrail, guardrails.get("must_refuse", ()))),
        must_escalate=tuple(map(_guardrail, guardrails.get("must_escalate", ()))),
        redactions=tuple(map(_redaction, guardrails.get("redaction_rules", ()))),
        _by_capability=_index(rules),
        _for_any=tuple(rule for rule in rules if rule.selector.capabilities is None),
    )


def _index(rules: tuple[CompiledRule, ...]) -> dict[str, tuple[CompiledRule, ...]]:
    named: dict[str, list[CompiledRule]] = {}
    for rule in rules:
        for name in rule.selector.capabilities or ():
            named.setdefault(name, []).append(rule)
    return {name: tuple(found) for name, found in named.items()}


def _rule(position: int, raw: Mapping[str, Any]) -> CompiledRule:
    effect = _effect(raw["then"])
    return CompiledRule(
        rule_id=raw["rule_id"],
        position=position,
        selector=Selector.read(raw["applies_to"]),
        condition=compile_condition(raw["if"]),
        effect=effect,
        kind=effect.kind,
    )


def _effect(then: Mapping[str, Any]) -> Effect:
    mode = then.get("approval_mode")
    return Effect(
        allow=then["allow"],
        approval_mode=None if mode is None else ApprovalMode(mode),
        gate=then.get("requires_approval_gate"),
        drops_gate=then.get("requires_approval_gate", "") is None,
        quorum=then.get("quorum"),
        arg_constraints=then.get("arg_constraints", {}),
        requires=tuple(then.get("requires", ())),
        prohibits=tuple(then.get("prohibits", ())),
    )


def _guardrail(raw: str | Mapping[str, Any]) -> CompiledGuardrail:
    if isinstance(raw, str):
        raised = {"in": [raw, {"merge": [{"var": "run.flags"}]}]}
        return CompiledGuardrail(raw, _EVERYWHERE, compile_condition(raised))
    return CompiledGuardrail(
        guardrail_id=raw["guardrail_id"],
        selector=Selector.read(raw.get("applies_to", {})),
        condition=compile_condition(raw["if"]),
        gate=raw.get("requires_approval_gate"),
        quorum=raw.get("quorum"),
    )


def _redaction(raw: str | Mapping[str, Any]) -> Redaction:
    if isinstance(raw, str):
        return Redaction(raw, _EVERYWHERE)
    return Redaction(raw["hide"], Selector.read(raw.get("applies_to", {})))
