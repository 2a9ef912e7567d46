"""Cases for scopes, audiences and tokens."""

from typing import Any

from tests.registry.readiness.manifests import DELETE, WRITE, Cases

STEP_UP = "/auth/step_up_scopes/payments.issue_refund"


def _scopes(*scopes: Any) -> dict[str, Any]:
    return {"/auth/initial_scopes": list(scopes)}


CASES = {
    "auth.scope.wildcard": Cases(
        fires=(
            _scopes("*"),
            _scopes("payments.*"),
            _scopes("payments.read", "payments:*:read"),
            _scopes("https://www.example.com/auth/*"),
            {STEP_UP: ["payments.refund.*"]},
            {STEP_UP: ["*"]},
            _scopes("payments.\uff0a"),
            _scopes("payments.%2A"),
            {"/auth/initial_scopes": "openid payments.*"},
        ),
        silent=(
            {},
            _scopes("payments.read_all"),
            _scopes("payments.read.all"),
            _scopes("payments.all_refunds.read"),
            _scopes("reports.full"),
            _scopes("payments.any"),
            _scopes("payments.star"),
            _scopes("https://graph.example.com/Mail.Read"),
            _scopes("wildcard.read"),
            {STEP_UP: ["payments.refund.write.everything"]},
            _scopes(7, None, ["*"]),
        ),
    ),
    "auth.token_passthrough.enabled": Cases(
        fires=(
            {"/auth/allow_token_passthrough": True},
            {"/auth/allow_token_passthrough": "true"},
            {"/auth/allow_token_passthrough": 1},
            {"/auth/allow_token_passthrough": True, "/auth/type": "oidc"},
        ),
        silent=(
            {},
            {"/auth/allow_token_passthrough": False},
            {"/auth/allow_token_passthrough": DELETE},
            {"/auth/allow_token_passthrough": None},
            {"/auth/allow_token_passthrough": "false"},
            {"/auth/allow_token_passthrough": 0},
        ),
    ),
    "auth.step_up.unknown_capability": Cases(
        fires=(
            {"/auth/step_up_scopes/payments.issue_refunds": ["a"]},
            {"/auth/step_up_scopes/payments_issue_refund": ["a"]},
            {"/auth/step_up_scopes/*": ["a"]},
            {"/auth/step_up_scopes/Payments.issue_refund": ["a"]},
            {"/auth/step_up_scopes/adp_orders.issue_refund": ["a"]},
            {f"{WRITE}/capability_id": "payments.pay_back"},
        ),
        silent=(
            {},
            {"/auth/step_up_scopes": {}},
            {"/auth/step_up_scopes": DELETE},
            {"/auth/step_up_scopes/payments.lookup_transaction": ["payments.pii.read"]},
            {"/auth/step_up_scopes": {"adp_payments.issue_refund": ["payments.refund.write"]}},
            {"/auth/step_up_scopes": {"adp_payments_mcp.issue_refund": ["a"]}},
        ),
    ),
    "auth.audience_missing": Cases(
        fires=(
            {"/auth/token_audience": DELETE},
            {"/auth/token_audience": ""},
            {"/auth/token_audience": None, "/auth/type": "oidc"},
            {"/auth/token_audience": []},
            {"/auth/token_audience": "*"},
        ),
        silent=(
            {},
            {"/auth/token_audience": ["payments-mcp"]},
            {"/auth/token_audience": DELETE, "/auth/type": "mtls"},
            {"/auth/token_audience": DELETE, "/auth/type": "api_key"},
            {"/auth/token_audience": DELETE, "/auth/type": "none", "/auth/reason": "in process"},
            {"/auth/token_audience": DELETE, "/auth/type": "workload_identity"},
            {"/auth": None},
        ),
    ),
    "auth.resource_missing": Cases(
        fires=(
            {"/auth/resource": DELETE},
            {"/auth/resource": ""},
            {"/auth/resource": None, "/auth/type": "oidc"},
        ),
        silent=(
            {},
            {"/auth/resource": DELETE, "/auth/type": "mtls"},
            {"/auth/resource": DELETE, "/auth/type": "api_key"},
            {"/auth/resource": DELETE, "/auth/type": "none"},
            {"/auth/resource": DELETE, "/auth/type": "workload_identity"},
            {"/auth/resource": "urn:payments"},
        ),
    ),
    "auth.none_in_production": Cases(
        fires=(
            {"/auth": {"type": "none"}},
            {"/auth": {"type": "none", "reason": "in process"}},
            {"/auth": {"type": "none"}, "/environment": DELETE},
        ),
        silent=(
            {},
            {"/auth": {"type": "none"}, "/environment": "development"},
            {"/auth": {"type": "none"}, "/environment": "workstation"},
            {"/auth": {"type": "none"}, "/environment": "staging"},
            {"/auth": {"type": "workload_identity"}},
            {"/auth": {"type": "api_key"}},
        ),
    ),
    "auth.step_up_missing": Cases(
        fires=(
            {"/auth/step_up_scopes": {}},
            {"/auth/step_up_scopes": DELETE},
            {STEP_UP: []},
            {"/auth/step_up_scopes": {"payments.lookup_transaction": ["a"]}},
        ),
        silent=(
            {},
            {"/auth/step_up_scopes": {}, "/auth/type": "mtls"},
            {"/auth/step_up_scopes": {}, "/auth/type": "none"},
            {"/auth/step_up_scopes": {}, "/auth/type": "workload_identity"},
            {"/auth/step_up_scopes": {"adp_payments.issue_refund": ["payments.refund.write"]}},
            {"/auth/step_up_scopes": {}, "/capabilities/1": DELETE},
        ),
    ),
}
