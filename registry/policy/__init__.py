"""Policy: pure decisions on governed calls, from reviewed bundles of JsonLogic rules."""

from registry.policy.bundle_tests import BundleTestResult, run_bundle_tests
from registry.policy.bundles import CompiledBundle, check_bundle, compile_bundle
from registry.policy.codes import Reason
from registry.policy.engine import evaluate
from registry.policy.foresight import Foresight, foresee
from registry.policy.obligations import unmet_obligations
from registry.policy.types import PolicyDecision, PolicyInputs, read_inputs, time_facts

__all__ = [
    "BundleTestResult",
    "CompiledBundle",
    "Foresight",
    "PolicyDecision",
    "PolicyInputs",
    "Reason",
    "check_bundle",
    "compile_bundle",
    "evaluate",
    "foresee",
    "read_inputs",
    "run_bundle_tests",
    "time_facts",
    "unmet_obligations",
]
