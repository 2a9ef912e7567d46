"""The error core: every code declared once, and mapped in one place."""

import pickle

import pytest

from contextos.core import errors
from contextos.core.errors import ContextOSError, ErrorKind, ErrorSpec, coded_error

CONTRACT_KINDS = [
    "protocol",
    "validation",
    "policy",
    "approval",
    "auth",
    "scope_step_up",
    "input",
    "idempotency",
    "rate_limited",
    "budget",
    "timeout",
    "upstream",
    "egress",
    "drift",
    "circuit_open",
    "internal",
]

CONTRACT_STATUSES = {
    "json.malformed": 400,
    "json.unstorable": 400,
    "json.integer_too_large": 422,
    "idempotency.missing": 400,
    "idempotency.in_flight": 409,
    "idempotency.conflict": 422,
    "auth.missing": 401,
    "auth.tenant_mismatch": 403,
    "otp.required": 403,
    "otp.invalid": 403,
    "pin.revoked": 403,
    "capability.unknown": 404,
    "rate.limited": 429,
    "budget.exhausted": 429,
    "circuit.open": 503,
    "drift.quarantined": 503,
    "record.unavailable": 503,
}


@pytest.fixture
def _catalogue_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "_catalogue", dict(errors._catalogue))


def _upstream_error() -> ContextOSError:
    return ContextOSError(
        kind=ErrorKind.UPSTREAM,
        code="insufficient_funds",
        message="The account holds too little.",
        retryable=False,
        remediation="Refund less.",
    )


@pytest.mark.proves("C13")
def test_the_kinds_are_those_of_the_contract() -> None:
    assert [kind.value for kind in ErrorKind] == CONTRACT_KINDS


@pytest.mark.proves("C13")
@pytest.mark.parametrize(("code", "status"), CONTRACT_STATUSES.items())
def test_codes_named_in_the_contract_have_its_http_status(code: str, status: int) -> None:
    assert errors.http_status(coded_error(code)) == status


def test_only_one_attempt_at_a_time_is_worth_retrying() -> None:
    assert coded_error("idempotency.in_flight").retryable
    assert not coded_error("idempotency.conflict").retryable


def test_every_code_says_what_happened_and_what_to_do() -> None:
    for spec in errors.catalogue():
        assert not spec.title.endswith("."), spec.code
        assert spec.remediation.endswith("."), spec.code


def test_the_catalogue_is_sorted_so_that_documents_made_from_it_are_stable() -> None:
    codes = [spec.code for spec in errors.catalogue()]
    assert codes == sorted(codes)
    assert len(codes) > 50


def test_an_undeclared_code_is_a_programming_error() -> None:
    with pytest.raises(LookupError, match="not in the catalogue"):
        coded_error("json.misspelt")


@pytest.mark.usefixtures("_catalogue_restored")
def test_an_app_can_declare_its_own_codes_but_none_twice() -> None:
    spec = ErrorSpec("gate.closed", ErrorKind.APPROVAL, 403, "The gate is closed", "Ask its owner.")
    errors.register(spec)
    assert coded_error("gate.closed").message == "The gate is closed."
    with pytest.raises(ValueError, match="declared twice"):
        errors.register(spec)


@pytest.mark.parametrize("code", ["nodots", "Upper.case", "trailing.", "a b.c", "a.b\n"])
def test_a_code_that_breaks_the_naming_rule_is_refused(code: str) -> None:
    with pytest.raises(ValueError, match="form"):
        ErrorSpec(code, ErrorKind.POLICY, 403, "Title", "Do this.")


def test_a_problem_document_has_the_members_of_rfc_9457_and_our_code() -> None:
    error = coded_error("rate.limited", data={"limit": 60}, retry_after_ms=1500)
    assert errors.problem(error, instance="/api/v1/runs") == {
        "type": "urn:contextos:error:rate.limited",
        "title": "Too many calls in a short time",
        "status": 429,
        "detail": "Too many calls in a short time.",
        "instance": "/api/v1/runs",
        "kind": "rate_limited",
        "code": "rate.limited",
        "retryable": True,
        "remediation": "Wait for the time in Retry-After, then go on more slowly.",
        "retry_after_ms": 1500,
        "details": {"limit": 60},
    }


def test_a_tool_error_leaves_out_what_is_not_known() -> None:
    assert errors.tool_error(_upstream_error()) == {
        "kind": "upstream",
        "code": "insufficient_funds",
        "message": "The account holds too little.",
        "retryable": False,
        "remediation": "Refund less.",
    }


def test_a_code_declared_by_an_adapter_is_mapped_by_its_kind() -> None:
    assert errors.http_status(_upstream_error()) == 502
    assert errors.problem(_upstream_error())["title"] == "upstream"


@pytest.mark.parametrize("kind", list(ErrorKind))
def test_every_kind_has_a_status_of_its_own(kind: ErrorKind) -> None:
    error = ContextOSError(kind=kind, code="x", message="m", retryable=False, remediation="r")
    assert 400 <= errors.http_status(error) <= 504


def test_an_error_survives_the_way_to_another_process() -> None:
    error = coded_error("rate.limited", message="Slow.", data={"n": 1}, retry_after_ms=5)
    copy = pickle.loads(pickle.dumps(error))
    assert errors.tool_error(copy) == errors.tool_error(error)
    assert str(copy) == "rate.limited: Slow."
