"""Redaction: secrets go, everything else stays, and what went is on record."""

import copy
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextos.core.redaction import MARK, RedactionRules, redact, redact_text
from contextos.core.secret_patterns import (
    _SHORTEST_SECRET_WORD,
    _hide_shapes_once,
    _until_stable,
    hide_shapes,
)
from contextos.core.signing import Ed25519Signer
from contextos.core.tokens import sign_token

SIGNER = Ed25519Signer.generate()
OUR_TOKEN = sign_token(
    {"iss": "i", "sub": "s", "aud": "a", "exp": 1, "iat": 1, "jti": "tok_1"}, signer=SIGNER
)
OUR_KEY = SIGNER.to_pem().decode()

# Assembled here so that no scanner takes this file for a leak.
SHAPES = {
    "our token": OUR_TOKEN,
    "our private key": OUR_KEY,
    "bearer": "Bearer abcdef123456",
    "payment key": "sk_" + "live_" + "4eC39HqLyjWDarjtT1zdp7dc",
    "model key": "sk-" + "proj-abcdefghijklmnopqrstuvwx",
    "forge token": "ghp_" + "a1B2" * 9,
    "chat token": "xoxb-" + "123456789012-abcdefghij",
    "cloud key": "AKIA" + "IOSFODNN7EXAMPLE",
    "maps key": "AIza" + "S" * 35,
    "url password": "postgres://app:hunter2hunter2@db.example/app",
    "query token": "https://x.example/cb?state=1&access_token=abc",
}
SECRET_NAMES = [
    "password",
    "db_password",
    "passwordHash",
    "client_secret",
    "clientSecret",
    "access_token",
    "accessToken",
    "accesstoken",
    "X-Adapter-Token",
    "Authorization",
    "api_key",
    "APIKey",
    "apikey",
    "private_key",
    "Set-Cookie",
    "otp",
    "otp_secret",
    "credential",
    "agent_token",
    "approver_tokens",
    "field_keys",
]
HARMLESS_NAMES = [
    "token_ref",
    "token_type",
    "token_endpoint",
    "secret_name",
    "idempotency_key",
    "key",
    "tokenizer",
    "author",
    "authorization_server",
    "jti",
    "cookie_policy",
    "pins",
    "description",
    "capability_id",
]
KEYS = st.sampled_from([*SECRET_NAMES, *HARMLESS_NAMES]) | st.text(max_size=6)
TEXTS = st.text(max_size=20) | st.lists(
    st.sampled_from([*SHAPES.values(), " ", "=", "password", "-", "eyJ", "a"]), max_size=4
).map("".join)
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.proves("C7")
@pytest.mark.parametrize("name", SECRET_NAMES)
def test_a_value_under_a_secret_name_is_hidden(name: str) -> None:
    result = redact({"outer": [{name: "hunter2"}]})
    assert result.value == {"outer": [{name: MARK}]}
    assert result.removed == (f"/outer/0/{name}",)


@pytest.mark.parametrize("name", HARMLESS_NAMES)
def test_a_value_under_a_harmless_name_is_kept(name: str) -> None:
    assert redact({name: "hunter2"}) == redact({name: "hunter2"}, RedactionRules())
    assert redact({name: "hunter2"}).value == {name: "hunter2"}


@pytest.mark.proves("C7")
@pytest.mark.parametrize("secret", SHAPES.values(), ids=SHAPES)
def test_a_value_that_looks_like_a_secret_is_hidden_wherever_it_stands(secret: str) -> None:
    result = redact({"note": [f"see {secret} please"]})
    assert result.removed == ("/note/0",)
    text = result.value["note"][0]
    assert text.startswith("see ")
    assert MARK in text
    assert not any(part in text for part in ("hunter2", "abcdef123456", "=abc", secret))


def test_a_secret_used_as_a_key_is_hidden_too_and_swallows_nothing() -> None:
    other = sign_token(
        {"iss": "i", "sub": "s", "aud": "a", "exp": 2, "iat": 1, "jti": "t"}, signer=SIGNER
    )
    result = redact({OUR_TOKEN: 1, other: 2})
    assert result.value == {MARK: 1, f"{MARK}#2": 2}


def test_whole_structures_under_a_secret_name_are_hidden() -> None:
    assert redact({"client_secret": {"a": ["x"]}}).value == {"client_secret": MARK}


def test_numbers_under_a_plural_name_are_counts_and_stay() -> None:
    assert redact({"max_tokens": 500}).value == {"max_tokens": 500}
    assert redact({"otp": 123456}).value == {"otp": MARK}


@pytest.mark.parametrize("empty", [None, True, ""])
def test_what_holds_nothing_is_not_reported_as_removed(empty: object) -> None:
    result = redact({"otp": empty})
    assert (result.value, result.removed) == ({"otp": empty}, ())


def test_pointers_hide_exact_places_of_any_type() -> None:
    rules = RedactionRules(pointers=("/customer/name", "/items/*/price", "/a~1b"))
    document = {"customer": {"name": None, "id": 1}, "items": [{"price": 5}], "a/b": False, "c": 1}
    result = redact(document, rules)
    assert result.value == {
        "customer": {"name": MARK, "id": 1},
        "items": [{"price": MARK}],
        "a/b": MARK,
        "c": 1,
    }
    assert result.removed == ("/customer/name", "/items/0/price", "/a~1b")


def test_the_root_itself_can_be_hidden() -> None:
    assert redact({"a": 1}, RedactionRules(pointers=("",))).value == MARK


def test_further_names_can_be_added() -> None:
    rules = RedactionRules(names=frozenset({"iban"}))
    assert redact({"IBAN": "DE02"}, rules).value == {"IBAN": MARK}


def test_a_pointer_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="pointer"):
        redact({}, RedactionRules(pointers=("customer",)))


def test_objects_that_are_not_json_can_not_carry_a_secret_past() -> None:
    class Request:
        def __str__(self) -> str:
            return "<Request password=hunter2>"

    result = redact({"request": Request(), "raw": b"hunter2", "error": ValueError(OUR_TOKEN)})
    assert "hunter2" not in str(result.value)
    assert OUR_TOKEN not in str(result.value)


def test_a_structure_too_deep_to_walk_is_hidden_and_not_a_crash() -> None:
    document: Any = "hunter2"
    for _ in range(50_000):
        document = [document]
    result = redact(document)
    assert len(result.removed) == 1
    current = result.value
    while isinstance(current, list):
        current = current[0]
    assert current == MARK


@given(DOCUMENTS)
def test_redacting_twice_changes_nothing_more(document: Any) -> None:
    before = copy.deepcopy(document)
    once = redact(document)
    again = redact(once.value)
    assert document == before
    assert again.value == once.value
    assert again.removed == ()


@given(DOCUMENTS)
def test_no_secret_survives_and_no_removal_is_silent(document: Any) -> None:
    result = redact({"document": document})
    text = repr(result.value)
    assert OUR_TOKEN not in text
    assert SHAPES["payment key"] not in text
    if not result.removed and MARK not in text:
        assert result.value == {"document": document}


@pytest.mark.parametrize(
    ("line", "cleaned"),
    [
        ("login password=hunter2 user=ann", f"login password={MARK} user=ann"),
        ('{"api_key": "abc", "n": 1}', f'{{"api_key": {MARK}, "n": 1}}'),
        ("Authorization: Basic dXNlcjpwYXNz", f"Authorization: {MARK}"),
        ("'Cookie': 'sessionid=abc; csrf=def', 'a': 1", f"'Cookie': '{MARK}', 'a': 1"),
        ("used max_tokens=500", "used max_tokens=500"),
        ("ValueError: password=x", f"ValueError: password={MARK}"),
        ("error=password=x", f"error=password={MARK}"),
        ("token_type: opaque", "token_type: opaque"),
        ("basic information for the bearer", "basic information for the bearer"),
        ("GET /cb?token=abc&x=1 200", f"GET /cb?token={MARK}&x=1 200"),
    ],
)
def test_log_lines_lose_their_secrets_and_nothing_else(line: str, cleaned: str) -> None:
    assert redact_text(line) == cleaned


@pytest.mark.parametrize("secret", SHAPES.values(), ids=SHAPES)
def test_secrets_by_shape_are_hidden_in_log_lines(secret: str) -> None:
    assert secret not in redact_text(f"upstream said: {secret}!")


@given(TEXTS)
def test_cleaning_a_line_twice_changes_nothing_more(text: str) -> None:
    assert redact_text(redact_text(text)) == redact_text(text)


@pytest.mark.parametrize(
    "piece", ["eyJ", "Bearer ", "a=", "-----BEGIN PRIVATE KEY", "://a:", "sk-", "?token", 'a="\\"']
)
def test_hostile_text_is_cleaned_in_linear_time(piece: str) -> None:
    started = time.process_time()
    redact_text(piece * (200_000 // len(piece)))
    assert time.process_time() - started < 2


@given(st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,20}", fullmatch=True) | st.text(max_size=20))
def test_the_short_way_past_short_words_hides_exactly_as_much_as_the_patterns(text: str) -> None:
    assert hide_shapes(text) == _until_stable(text, _hide_shapes_once)


def test_no_pattern_matches_a_word_too_short_to_be_looked_at() -> None:
    shortest = ["sk_" + "live_" + "a" * 10, "AKIA" + "A" * 16, "npm_" + "a" * 36, "ghp_" + "a" * 30]
    assert all(hide_shapes(word) == "[redacted]" for word in shortest)
    assert min(map(len, shortest)) == _SHORTEST_SECRET_WORD
    assert all(hide_shapes(word[:-1]) == word[:-1] for word in shortest)
