"""Cases for model calls, questions to users and long-running work."""

from typing import Any

from tests.registry.readiness.manifests import DELETE, READ, WRITE, Cases

_BUDGET = {
    "max_requests_per_run": 3,
    "max_iterations": 2,
    "max_output_tokens": 500,
    "max_cost_cents": 20,
}
_ELICITATION: dict[str, Any] = {
    "elicitation_id": "link_account",
    "mode": "url",
    "purpose": "Link the payment account.",
    "url_template": "https://payments.example.com/link?state={state}",
    "requires_user_consent": True,
    "user_may_decline": True,
    "rate_limit_per_run": 1,
    "state_binding": "user and session",
    "policy_refs": ["POLICY_LINKING"],
}


def _sampling(**members: Any) -> dict[str, Any]:
    given = {"declared": True, "budget": _BUDGET, "policy_refs": ["POLICY_SAMPLING"], **members}
    return {"/sampling": {name: value for name, value in given.items() if value is not DELETE}}


def _asking(**members: Any) -> dict[str, Any]:
    given = {**_ELICITATION, **members}
    return {"/elicitation": [{name: value for name, value in given.items() if value is not DELETE}]}


def _url(url: str) -> dict[str, Any]:
    return _asking(url_template=url)


def _task(**members: Any) -> dict[str, Any]:
    return {f"{READ}/execution": {"mode": "task", "ttl_seconds": 3600, **members}}


CASES = {
    "sampling.budget.missing": Cases(
        fires=(
            _sampling(budget=DELETE),
            _sampling(budget={}),
            _sampling(budget={"max_requests_per_run": "three"}),
            _sampling(budget={"max_cost_cents": -1}),
            _sampling(budget=100),
            {"/sampling": {"purpose": "Summarise."}},
            {"/sampling": True},
        ),
        silent=(
            {},
            {"/sampling": {}},
            {"/sampling": {"declared": False}},
            _sampling(),
            _sampling(budget={"max_requests_per_run": 3}),
            _sampling(declared=False, budget=DELETE),
            {"/server_capabilities/sampling": {}},
        ),
    ),
    "sampling.policy_missing": Cases(
        fires=(
            _sampling(policy_refs=DELETE),
            _sampling(policy_refs=[]),
            _sampling(policy_refs="POLICY_SAMPLING"),
        ),
        silent=(
            {},
            _sampling(),
            _sampling(declared=False, policy_refs=DELETE),
            {"/sampling": {}},
            _sampling(policy_refs=["A", "B"]),
        ),
    ),
    "elicitation.url.sensitive_data": Cases(
        fires=(
            _url("https://a.example.com/link?access_token={access_token}"),
            _url("https://a.example.com/link?t={accessToken}"),
            _url("https://a.example.com/link{?state,password}"),
            _url("https://a.example.com/link?email={user_email}"),
            _url("https://a.example.com/{ssn}/link"),
            _url("https://user:pass@a.example.com/link"),
            _url("https://a.example.com/link?api_key=abc123"),
            _url("https://a.example.com/link#id_token={id}"),
            _url("https://a.example.com/link?who=bob@example.com"),
            _url("https://a.example.com/link?x=%7Bclient_secret%7D"),
            _url("https://a.example.com/link?card={card_number}"),
            _asking(mode=DELETE, url_template="https://a.example.com/?token={token}"),
        ),
        silent=(
            {},
            _asking(),
            _url("https://a.example.com/link?state={state}&elicitation={elicitation_id}"),
            _url("https://a.example.com/link?state={state_token}"),
            _url("https://a.example.com/link?csrf={csrf_token}"),
            _url("https://a.example.com/password-reset/{state}"),
            _url("https://a.example.com/email/verify?state={state}"),
            _url("https://a.example.com/link?template={email_template_id}"),
            _url("https://a.example.com/link?order={order_number}"),
            _url("https://a.example.com/link?code_challenge={code_challenge}"),
            _url("https://secret.example.com/link?state={state}"),
            _url("https://a.example.com/link?token="),
            _asking(mode="form", url_template=DELETE, schema={"type": "object"}),
        ),
    ),
    "elicitation.policy_missing": Cases(
        fires=(
            _asking(policy_refs=DELETE),
            _asking(policy_refs=[]),
            _asking(policy_refs=[""]),
        ),
        silent=(
            {},
            _asking(),
            {"/elicitation": []},
            {"/elicitation": None},
            _asking(policy_refs=["A", "B"]),
        ),
    ),
    "elicitation.not_declinable": Cases(
        fires=(
            _asking(user_may_decline=DELETE),
            _asking(user_may_decline=False),
            _asking(user_may_decline="yes"),
        ),
        silent=(
            {},
            _asking(),
            {"/elicitation": []},
            _asking(mode="form"),
            _asking(requires_user_consent=False),
        ),
    ),
    "task.policy_missing": Cases(
        fires=(
            _task(),
            _task(policy_refs=[]),
            _task(cancellable=True),
        ),
        silent=(
            {},
            _task(policy_refs=["POLICY_TASKS"]),
            _task() | {f"{READ}/policy_refs": ["POLICY_READS"]},
            {f"{WRITE}/execution": {"mode": "task"}},
            {f"{READ}/execution": {"mode": "call"}},
            {f"{READ}/execution": {}},
        ),
    ),
}
