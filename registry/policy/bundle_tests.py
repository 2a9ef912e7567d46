"""Runs the tests a bundle carries, as publication demands."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from contextos.core.errors import ContextOSError
from registry.policy.bundles import CompiledBundle, compile_bundle
from registry.policy.constraints import same_json
from registry.policy.engine import evaluate
from registry.policy.types import PolicyInputs, read_inputs
from registry.schema_explain import show


@dataclass(frozen=True, slots=True)
class BundleTestResult:
    """How one of a bundle's tests came out; no differences means it passed."""

    index: int
    name: str
    differences: tuple[str, ...]

    @property
    def passed(self) -> bool:
        return not self.differences


def run_bundle_tests(document: Mapping[str, Any]) -> tuple[BundleTestResult, ...]:
    """The outcome of every test, in order; raises `policy_bundle.invalid` for a faulty bundle."""
    bundle = compile_bundle(document)
    return tuple(
        BundleTestResult(index, test.get("name", f"test {index + 1}"), _differences(bundle, test))
        for index, test in enumerate(document.get("tests", ()))
    )


def _differences(bundle: CompiledBundle, test: Mapping[str, Any]) -> tuple[str, ...]:
    try:
        inputs = _for_tenant(read_inputs(test["input"]), bundle.tenant)
        verdict = evaluate(inputs, [bundle]).verdict()
    except ContextOSError as error:
        return (f"The input can't be used: {error.message}",)
    return tuple(
        _difference(name, wanted, verdict)
        for name, wanted in test["expect"].items()
        if not _agrees(name, wanted, verdict)
    )


def _for_tenant(inputs: PolicyInputs, tenant: str | None) -> PolicyInputs:
    """A test of a tenant's own bundle need not name the tenant."""
    if tenant is None or "tenant_id" in inputs.run:
        return inputs
    return replace(inputs, run={**inputs.run, "tenant_id": tenant})


def _agrees(name: str, wanted: Any, verdict: Mapping[str, Any]) -> bool:
    """A reason may be expected in full or by its code alone."""
    if name == "reason" and wanted == verdict["reason"].partition(":")[0]:
        return True
    return name in verdict and same_json(wanted, verdict[name])


def _difference(name: str, wanted: Any, verdict: Mapping[str, Any]) -> str:
    if name not in verdict:
        return f"A decision has no member {show(name)}."
    return f"{name}: expected {show(wanted)}, decided {show(verdict[name])}."
