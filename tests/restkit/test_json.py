"""Bodies are read strictly and written as valid JSON."""

from __future__ import annotations

import math
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import orjson
import pytest
from django.test import Client
from django.utils.translation import gettext_lazy
from hypothesis import given
from hypothesis import strategies as st

from contextos.core import strict_json
from contextos.restkit.renderers import CanonicalJSONRenderer, JSONRenderer
from contextos.restkit.views import APIView

_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc"), inner, max_size=4),
    max_leaves=12,
)


def _post(body: bytes, content_type: str = "application/json") -> Any:
    return Client().post("/api/v1/echo", body, content_type=content_type)


@pytest.mark.urls("tests.restkit.urls")
@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, "json.malformed"),
        (b'{"a": NaN}', 400, "json.malformed"),
        (b'{"a": 1, "a": 2}', 400, "json.duplicate_key"),
        (b"[1]", 400, "json.not_an_object"),
        (b'{"a": "\\u0000"}', 400, "json.unstorable"),
        (b'{"a": "\\ud800"}', 400, "json.unstorable"),
        (b'{"a":' * 65 + b"1" + b"}" * 65, 400, "json.too_deep"),
        (b'{"a": "' + b"x" * strict_json.MAX_BYTES + b'"}', 413, "json.too_large"),
        (b"\xff\xfe{}", 400, "json.malformed"),
    ],
)
def test_a_body_two_readers_could_read_differently_is_refused(
    body: bytes, status: int, code: str
) -> None:
    response = _post(body)
    assert (response.status_code, response.json()["code"]) == (status, code)


@pytest.mark.urls("tests.restkit.urls")
def test_a_body_in_chunks_is_refused_and_never_taken_for_an_empty_one() -> None:
    response = Client().post(
        "/api/v1/echo", content_type="application/json", headers={"transfer-encoding": "chunked"}
    )
    assert (response.status_code, response.json()["code"]) == (411, "request.length_missing")


@pytest.mark.urls("tests.restkit.urls")
def test_a_json_object_arrives_as_it_was_sent() -> None:
    body = {"text": "Grüße\n", "list": [1, 2.5, None, True], "object": {"": {}}}
    response = _post(orjson.dumps(body), "application/json; charset=utf-8")
    assert response.json() == {"received": body}
    assert response["Content-Type"] == "application/json"


@given(_JSON)
def test_what_is_written_can_be_read_strictly_again(value: Any) -> None:
    written = JSONRenderer().render(value)
    assert value is None or strict_json.loads(written) == value


def test_not_a_number_never_reaches_the_wire() -> None:
    written = JSONRenderer().render({"a": math.nan, "b": math.inf})
    assert orjson.loads(written) == {"a": None, "b": None}


def test_lazy_texts_exact_numbers_and_read_only_mappings_are_written() -> None:
    data = {"t": gettext_lazy("yes"), "d": Decimal("1.10"), "m": MappingProxyType({"a": 1})}
    assert orjson.loads(JSONRenderer().render(data)) == {"t": "yes", "d": "1.10", "m": {"a": 1}}


def test_an_object_nobody_knows_is_an_error_not_its_repr() -> None:
    with pytest.raises(TypeError):
        JSONRenderer().render({"a": object()})


@pytest.mark.parametrize("renderer", [JSONRenderer, CanonicalJSONRenderer])
def test_an_answer_without_content_has_no_bytes(renderer: type[JSONRenderer]) -> None:
    assert renderer().render(None) == b""


def test_an_answer_kept_canonically_has_the_same_bytes_when_it_is_given_again() -> None:
    first = CanonicalJSONRenderer().render({"z": 4200.0, "a": {"é": 1e21, "b": (1, 2)}})
    assert first == '{"a":{"b":[1,2],"é":1e+21},"z":4200}'.encode()
    assert CanonicalJSONRenderer().render(orjson.loads(first)) == first


def test_what_has_no_canonical_form_is_still_answered() -> None:
    echoed = {"b": 2**60, "a": gettext_lazy("yes")}
    assert orjson.loads(CanonicalJSONRenderer().render(echoed)) == {"b": 2**60, "a": "yes"}


@pytest.mark.urls("tests.restkit.urls")
@pytest.mark.parametrize(
    "accept", [None, "*/*", "application/json", "application/*", "text/html, */*;q=0.1", "text/csv"]
)
@pytest.mark.parametrize("query", ["", "?format=json", "?format=csv", "?a=1"])
def test_the_short_negotiation_answers_as_the_long_one(
    accept: str | None, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = {} if accept is None else {"Accept": accept}

    def answered() -> tuple[int, str | None]:
        response = Client().post(
            f"/api/v1/echo{query}", b"{}", content_type="application/json", headers=headers
        )
        return response.status_code, response.get("Content-Type")

    short = answered()
    monkeypatch.delattr(APIView, "perform_content_negotiation")
    assert answered() == short
