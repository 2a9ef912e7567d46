"""Documents that can't be judged are refused with a code; whatever comes, nothing crashes."""

from __future__ import annotations

import copy
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextos.core.errors import ContextOSError
from registry.documents import schema_problems
from registry.plans import verify_plan
from registry.plans.documents import MAX_STEPS
from tests.depth import examples
from tests.registry.plans.world import judge, lookup, pack, plan, refund, skill_step, step


@pytest.mark.proves("C19")
@pytest.mark.parametrize(
    ("document", "against", "run", "pointer"),
    [
        (None, pack(), None, "/plan"),
        ([], pack(), None, "/plan"),
        ({}, pack(), None, "/plan/steps"),
        (plan(steps={}), pack(), None, "/plan/steps"),
        (plan(steps=None), pack(), None, "/plan/steps"),
        (plan("s1"), pack(), None, "/plan/steps/0"),  # type: ignore[arg-type]
        (plan({"capability_id": "orders.lookup"}), pack(), None, "/plan/steps/0/step_id"),
        (plan(lookup("")), pack(), None, "/plan/steps/0/step_id"),
        (plan(lookup(step_id=5)), pack(), None, "/plan/steps/0/step_id"),  # type: ignore[arg-type]
        (plan(lookup("a"), lookup("a")), pack(), None, "/plan/steps/1/step_id"),
        (plan(lookup(skill_id="x")), pack(), None, "/plan/steps/0"),
        (plan(skill_step(5)), pack(), None, "/plan/steps/0/skill_id"),  # type: ignore[arg-type]
        (plan(lookup(depends_on="s1")), pack(), None, "/plan/steps/0/depends_on"),
        (plan(lookup(depends_on=[1])), pack(), None, "/plan/steps/0/depends_on"),
        (plan(lookup(requires_evidence={})), pack(), None, "/plan/steps/0/requires_evidence"),
        (plan(lookup(decision_binding=[])), pack(), None, "/plan/steps/0/decision_binding"),
        (plan(intent_mode="readonly"), pack(), None, "/plan/intent_mode"),
        (plan(intent_mode=None), pack(), None, "/plan/intent_mode"),
        (plan(intent_mode=[]), pack(), None, "/plan/intent_mode"),
        (plan(intent=5), pack(), None, "/plan/intent"),
        (plan(), None, None, "/pack"),
        (plan(), [], None, "/pack"),
        (plan(), pack(permissions={}), None, "/pack/permissions"),
        (plan(), pack(permissions=["x"]), None, "/pack/permissions/0"),
        (plan(), pack(capabilities="x"), None, "/pack/capabilities"),
        (plan(), pack(capabilities=[None]), None, "/pack/capabilities/0"),
        (plan(), pack(skills=[1]), None, "/pack/skills"),
        (plan(), pack(cached_aliases=[]), None, "/pack/cached_aliases"),
        (plan(), pack(cached_aliases={"a": "b"}), None, "/pack/cached_aliases/a"),
        (plan(), pack(effective_mode_policy={}), None, "/pack/effective_mode_policy"),
        (plan(), pack(), [], "/run"),
        (plan(), pack(), {"context": []}, "/run/context"),
        (plan(), pack(), {"role": 5}, "/run/role"),
    ],
)
def test_a_document_that_can_not_be_judged_is_refused(
    document: Any, against: Any, run: Any, pointer: str
) -> None:
    with pytest.raises(ContextOSError) as refused:
        verify_plan(document, against, run)
    assert refused.value.code == "plan.invalid"
    assert refused.value.data["problems"][0]["pointer"] == pointer


def test_a_plan_has_a_thousand_steps_at_most() -> None:
    steps = [step(str(number), "extract.entities") for number in range(MAX_STEPS + 1)]
    with pytest.raises(ContextOSError):
        judge(plan(*steps))
    assert judge(plan(*steps[1:])).verdict == "ok"


def test_plans_of_the_tests_fit_the_published_schema() -> None:
    document = plan(lookup("a"), refund("b", depends_on=["a"]), skill_step("skill.x", "c"))
    assert schema_problems(document, "plan") == ()
    assert schema_problems(plan({"step_id": "a"}), "plan") != ()
    assert schema_problems(plan(lookup(skill_id="b")), "plan") != ()


def test_a_full_context_pack_can_stand_in_for_the_offline_form() -> None:
    permissions = pack()["permissions"]
    document = {**pack(), "tooling_layer": {"permissions": permissions}}
    del document["permissions"]
    assert judge(plan(refund()), document).verdict == "ok"


@pytest.mark.parametrize("shape", ["writes", "skills", "cycle", "refused"])
def test_a_hundred_steps_cost_about_ten_times_as_much_as_ten(shape: str) -> None:
    """Times differ by machine (`make bench` has the row); that nothing grows by the square, not."""
    document, against = _hundred(shape), pack()
    few = {**document, "steps": document["steps"][:10]}
    verify_plan(document, against)
    best = min(_timed(document, against) for _ in range(15))
    assert best < 40 * min(_timed(few, against) for _ in range(15))


def _hundred(shape: str) -> dict[str, Any]:
    if shape == "skills":
        return plan(*(skill_step("skill.support.refund_evidence", f"s{n}") for n in range(100)))
    steps = [
        refund(f"s{n}", idempotency_key=f"ik_{n:016d}", depends_on=[f"s{n - 1}"] if n else [])
        for n in range(100)
    ]
    if shape == "cycle":
        steps[0]["depends_on"] = ["s99"]
    if shape == "refused":
        steps = [step(f"s{n}", f"no.such_{n}") for n in range(100)]
    return plan(*steps)


def _timed(document: Any, against: Any) -> float:
    started = time.process_time()
    verify_plan(document, against)
    return time.process_time() - started


# -- whatever comes ------------------------------------------------------------------------------

junk = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["s1", "payments.issue_refund", "destructive", "*", "skill.act"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["min", "max", "type", "pattern", "a", ""]), inner, max_size=3
        )
    ),
    max_leaves=6,
)
BASE = {
    "plan": plan(
        lookup("s1"),
        refund("s2", depends_on=["s1"], requires_evidence=["s1"], decision_binding="x"),
        skill_step("skill.support.identity_verification", "s3"),
        lookup("s4", capability_id="mcp_payments_lookup_transaction"),
    ),
    "pack": pack(
        effective_mode_policy=[
            {
                "capability_id": "payments.issue_refund",
                "when": {"amount_inr": {"max": 5}},
                "effective_mode": "delegated",
            }
        ]
    ),
    "run": {"safety_mode": "delegated", "role": "a", "context": {"customer_id": "c"}},
}


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, member in items:
        if isinstance(member, dict | list):
            found.extend(_places(member, (*path, key)))
        else:
            found.append((*path, key))
    return found


PLACES = _places(BASE)


@settings(max_examples=examples(400))
@given(st.lists(st.tuples(st.sampled_from(PLACES), junk), min_size=1, max_size=3))
def test_junk_anywhere_is_a_finding_or_a_coded_refusal(
    changes: list[tuple[tuple[Any, ...], Any]],
) -> None:
    document = copy.deepcopy(BASE)
    for path, value in changes:
        _put(document, path, value)
    answer = _judged(document)
    if answer == "plan.invalid":
        return
    assert schema_problems(answer, "plan-verdict") == ()
    for finding in answer["findings"]:
        assert finding["message"].endswith(".")
        assert finding["message"].splitlines() == [finding["message"]]


def _judged(document: Any) -> Any:
    try:
        return verify_plan(document["plan"], document["pack"], document["run"]).document()
    except ContextOSError as refused:
        return refused.code


def _put(document: Any, path: tuple[Any, ...], value: Any) -> None:
    place = document
    for key in path[:-1]:
        try:
            place = place[key]
        except (KeyError, IndexError, TypeError):
            return  # an earlier change took the place away
    if isinstance(place, dict) or (isinstance(place, list) and path[-1] in range(len(place))):
        place[path[-1]] = value


@given(junk, junk, junk)
def test_pure_junk_is_refused(document: Any, against: Any, run: Any) -> None:
    with pytest.raises(ContextOSError):
        verify_plan(document, against, run)
