"""The JSON Schema seam: what it accepts, what it refuses, and that it never reaches out."""

import socketserver
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from contextos.core.errors import ContextOSError
from registry import validation
from registry.validation import (
    DIALECTS,
    Problem,
    SchemaDocuments,
    check_schema,
    compile_schema,
    dialect_of,
    is_usable_pattern,
)

pytestmark = pytest.mark.proves("B7")


def accepts(schema: Any, instance: Any, **options: Any) -> bool:
    return compile_schema(schema, **options).is_valid(instance)


class TestWhatJsonCantExpress:
    @pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
    @pytest.mark.parametrize("schema", [True, {}, {"maximum": 5}, {"type": ["number", "null"]}])
    def test_no_schema_accepts_a_number_that_is_none(self, schema: Any, number: Any) -> None:
        assert not accepts(schema, number)
        assert not accepts(schema, {"deep": [number]})
        assert compile_schema(schema).errors(number)[0].keyword == "json"

    @pytest.mark.parametrize("value", [{1, 2}, {1: 2}, "\ud800", object()])
    def test_no_schema_accepts_what_is_no_json(self, value: Any) -> None:
        assert not accepts(True, value)
        assert compile_schema({"type": "string"}).errors(value)

    def test_nesting_that_would_overrun_the_stack_is_refused(self) -> None:
        value: list[Any] = []
        for _ in range(200_000):
            value = [value]
        assert not accepts({"items": {"$ref": "#"}}, value)
        while value:  # freed by hand: the interpreter's own cleanup recurses
            value = value.pop()

    def test_huge_integers_are_compared_exactly(self) -> None:
        assert not accepts({"maximum": 5}, 10**400)
        assert accepts({"minimum": 10**400}, 10**400 + 1)
        assert not accepts({"minimum": 10**400}, 10**400 - 1)
        assert accepts({"type": "integer"}, 2**70)

    def test_a_boolean_is_no_number(self) -> None:
        assert not accepts({"type": "number"}, True)
        assert not accepts({"const": 1}, True)


class TestPatterns:
    def test_a_trailing_newline_does_not_slip_past_the_end_anchor(self) -> None:
        schema = {"type": "string", "pattern": "^ik_[a-z0-9]{16}$"}
        assert accepts(schema, "ik_2x9k4j7m1q8w0p3z")
        assert not accepts(schema, "ik_2x9k4j7m1q8w0p3z\n")

    @pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|a)*$", "(.*a){25}", "^(([a-z])+.)+$"])
    def test_a_pattern_made_to_hang_a_matcher_answers_anyway(self, pattern: Any) -> None:
        validator = compile_schema({"pattern": pattern})
        assert not validator.is_valid("a" * 20 + "!" * 20_000 + "\n")

    @pytest.mark.parametrize("pattern", ["^(?=a)b", "(?<!x)y", r"^(a)\1$", "(?!x)"])
    def test_imported_patterns_that_need_backtracking_are_refused(self, pattern: Any) -> None:
        (problem,) = check_schema({"properties": {"code": {"pattern": pattern}}})
        assert problem.pointer == "/properties/code/pattern"
        assert "bounded time" in problem.message
        assert not is_usable_pattern(pattern)

    def test_our_own_schemas_may_use_look_ahead(self) -> None:
        assert accepts({"pattern": "^(?!x)"}, "y", imported=False)

    def test_a_pattern_that_would_take_all_memory_is_refused(self) -> None:
        assert check_schema({"pattern": "(a{1000}){1000}"})

    @pytest.mark.parametrize("pattern", [r"^\/v1\/[\w\-\.\@]+$", r"^\d{4}-\d{2}$", "^[^/]+$"])
    def test_patterns_as_javascript_writes_them_are_taken(self, pattern: Any) -> None:
        assert check_schema({"pattern": pattern}) == ()

    def test_every_bad_pattern_is_named(self) -> None:
        schema = {
            "properties": {"a": {"pattern": "["}, "b": {"pattern": "(?=x)"}},
            "patternProperties": {"(?=y)": True},
        }
        assert {problem.pointer for problem in check_schema(schema)} == {
            "/properties/a/pattern",
            "/properties/b/pattern",
            "/patternProperties/(?=y)",
        }


class _Listener(socketserver.BaseRequestHandler):
    calls = 0

    def handle(self) -> None:
        type(self).calls += 1


@pytest.fixture
def loopback_url() -> Iterator[str]:
    _Listener.calls = 0
    with socketserver.TCPServer(("127.0.0.1", 0), _Listener) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/schema.json"
        server.shutdown()
        thread.join()


class TestReferences:
    def test_a_remote_reference_is_never_fetched(self, loopback_url: Any) -> None:
        for keyword in ("$ref", "$schema", "$dynamicRef"):
            schema = {"properties": {"a": {"$ref": "#/x"}}, keyword: loopback_url}
            assert check_schema(schema)
            with pytest.raises(ContextOSError, match="schema"):
                compile_schema(schema)
        assert _Listener.calls == 0

    def test_a_file_reference_is_never_read(self, tmp_path: Any) -> None:
        target = tmp_path / "schema.json"
        target.write_text('{"type": "string"}')
        (problem,) = check_schema({"$ref": target.as_uri()})
        assert problem.keyword == "$ref"

    def test_documents_answer_references_between_schemas(self) -> None:
        documents = {
            "schema://money.v1": {"type": "integer", "minimum": 1},
            "schema://refund.v1": {"properties": {"amount": {"$ref": "schema://money.v1"}}},
        }
        schema = {"$ref": "schema://refund.v1"}
        assert check_schema(schema, documents=documents) == ()
        assert accepts(schema, {"amount": 3}, documents=documents)
        assert not accepts(schema, {"amount": 0}, documents=documents)

    def test_a_reference_into_a_document_follows_its_fragment(self) -> None:
        documents = {"schema://money.v1": {"$defs": {"inr": {"const": "INR"}}}}
        assert accepts({"$ref": "schema://money.v1#/$defs/inr"}, "INR", documents=documents)
        (problem,) = check_schema({"$ref": "schema://money.v1#/$defs/usd"}, documents=documents)
        assert problem.pointer == "/$ref"

    def test_a_capital_letter_in_a_document_name_makes_no_difference_to_its_resolution(
        self,
    ) -> None:
        documents = {"schema://Payments.Money.v1": {"type": "integer"}}
        schema = {"$ref": "schema://Payments.Money.v1"}
        assert check_schema(schema, documents=documents) == ()
        assert not accepts(schema, "x", documents=documents)

    def test_each_dangling_reference_is_named_even_where_nothing_uses_it(self) -> None:
        schema = {"$defs": {"a": {"$ref": "#/$defs/none"}}, "properties": {"b": {"$ref": "#x"}}}
        assert {problem.pointer for problem in check_schema(schema)} == {
            "/$defs/a/$ref",
            "/properties/b/$ref",
        }

    def test_a_property_called_ref_is_no_reference(self) -> None:
        schema = {
            "properties": {"$ref": {"type": "string"}},
            "const": {"$ref": "nowhere"},
            "examples": [{"$ref": "nowhere"}],
        }
        assert check_schema(schema) == ()

    @pytest.mark.parametrize(
        "schema",
        [
            {"$ref": "#"},
            {"$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"},
            {
                "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"not": {"$ref": "#"}}},
                "$ref": "#/$defs/a",
            },
            {"properties": {"next": {"$ref": "#"}}, "additionalProperties": False},
        ],
    )
    def test_references_in_a_circle_neither_hang_nor_crash(self, schema: Any) -> None:
        assert check_schema(schema) == ()
        compile_schema(schema).is_valid({"next": {"next": {}}})

    def test_documents_that_refer_to_each_other_in_a_circle_are_usable(self) -> None:
        documents = {
            "schema://a": {"properties": {"b": {"$ref": "schema://b"}}},
            "schema://b": {"properties": {"a": {"$ref": "schema://a"}}, "required": ["a"]},
        }
        assert check_schema(documents["schema://a"], documents=documents) == ()
        assert not accepts({"$ref": "schema://a"}, {"b": {}}, documents=documents)

    def test_a_reference_to_a_published_meta_schema_needs_no_network(self) -> None:
        schema = {"$ref": "https://json-schema.org/draft/2020-12/schema"}
        assert check_schema(schema) == ()
        assert not accepts(schema, {"type": "objekt"})

    def test_anchors_and_ids_are_followed(self) -> None:
        schema = {
            "$id": "schema://root",
            "$ref": "#amount",
            "$defs": {
                "x": {"$anchor": "amount", "type": "integer"},
                "y": {"$id": "schema://inner", "$ref": "#/$defs/z", "$defs": {"z": True}},
            },
        }
        assert check_schema(schema) == ()


class TestDialects:
    def test_2020_12_is_meant_when_nothing_is_declared(self) -> None:
        assert dialect_of({}) is DIALECTS["2020-12"]
        assert dialect_of(True) is DIALECTS["2020-12"]

    @pytest.mark.parametrize(
        ("uri", "name"),
        [
            ("https://json-schema.org/draft/2020-12/schema", "2020-12"),
            ("https://json-schema.org/draft/2020-12/schema#", "2020-12"),
            ("https://json-schema.org/draft/2019-09/schema", "2019-09"),
            ("http://json-schema.org/draft-07/schema#", "draft-07"),
            ("http://json-schema.org/draft-07/schema", "draft-07"),
            ("https://json-schema.org/draft-07/schema#", "draft-07"),
            ("http://json-schema.org/draft-06/schema#", "draft-06"),
            ("http://json-schema.org/draft-04/schema#", "draft-04"),
        ],
    )
    def test_declared_dialects_are_recognised_in_their_usual_spellings(
        self, uri: Any, name: Any
    ) -> None:
        assert dialect_of({"$schema": uri}) is DIALECTS[name]
        assert check_schema({"$schema": uri}) == ()

    def test_an_older_dialect_is_obeyed(self) -> None:
        older = {"$schema": "http://json-schema.org/draft-04/schema#"}
        exclusive = {"minimum": 1, "exclusiveMinimum": True}
        assert not accepts(older | exclusive, 1)
        assert check_schema(exclusive)
        tuples = {"items": [{"type": "string"}]}
        seven = {"$schema": "http://json-schema.org/draft-07/schema#"}
        assert not accepts(seven | tuples, [1])
        assert check_schema(tuples)

    @pytest.mark.parametrize("uri", ["https://example.com/dialect", "", "2020-12", 7])
    def test_an_unknown_dialect_is_an_error(self, uri: Any) -> None:
        (problem,) = check_schema({"$schema": uri})
        assert problem.pointer == "/$schema"
        with pytest.raises(ContextOSError):
            compile_schema({"$schema": uri})


class TestFaultySchemas:
    @pytest.mark.parametrize("schema", [None, [], "true", 3, 1.5])
    def test_what_is_no_schema_is_said_to_be_none(self, schema: Any) -> None:
        (problem,) = check_schema(schema)
        assert problem.pointer == ""

    def test_each_fault_is_named_at_its_place(self) -> None:
        schema = {"type": "objekt", "properties": {"a": {"minimum": "1"}, "b": {"required": "a"}}}
        problems = {problem.pointer: problem.message for problem in check_schema(schema)}
        assert set(problems) == {"/type", "/properties/a/minimum", "/properties/b/required"}
        assert problems["/type"] == '"objekt" is not a JSON type.'

    def test_compiling_a_faulty_schema_raises_the_code_and_the_place(self) -> None:
        with pytest.raises(ContextOSError) as caught:
            compile_schema({"properties": {"a": {"type": "objekt"}}})
        assert caught.value.code == "schema.invalid"
        assert caught.value.data["pointer"] == "/properties/a/type"

    def test_a_schema_nested_beyond_reason_is_a_problem_not_a_crash(self) -> None:
        schema: Any = True
        for _ in range(5_000):
            schema = {"not": schema}
        assert check_schema(schema)


class TestProblems:
    SCHEMA: Any = {
        "type": "object",
        "properties": {
            "amount_inr": {"type": "number", "minimum": 1, "maximum": 50000},
            "currency": {"enum": ["INR"]},
            "email": {"type": "string", "format": "email"},
        },
        "required": ["amount_inr"],
        "additionalProperties": False,
    }

    def test_formats_are_asserted(self) -> None:
        assert not accepts(self.SCHEMA, {"amount_inr": 1, "email": "nobody"})
        assert accepts(self.SCHEMA, {"amount_inr": 1, "email": "a@example.com"})

    def test_each_problem_has_its_place_keyword_and_sentence(self) -> None:
        given = {"amount_inr": 60000, "currency": "USD", "note": 1}
        assert set(compile_schema(self.SCHEMA).errors(given)) == {
            Problem("/amount_inr", "60000 is greater than 50000.", "maximum"),
            Problem("/currency", '"USD" is not one of "INR".', "enum"),
            Problem("", 'These members are not allowed here: "note".', "additionalProperties"),
        }

    def test_masked_messages_repeat_no_value(self) -> None:
        given = {"amount_inr": 60001, "currency": "S3CRET", "email": "t0ken"}
        problems = compile_schema(self.SCHEMA).errors(given, mask=True)
        assert len(problems) == 3
        text = " ".join(problem.message for problem in problems)
        assert not any(value in text for value in ("60001", "S3CRET", "t0ken"))

    def test_invisible_characters_in_a_value_are_shown_in_its_message(self) -> None:
        (problem,) = compile_schema({"const": "a"}).errors("a\u202eb")
        assert "⟨U+202E⟩" in problem.message

    def test_a_flood_of_errors_is_cut_off(self) -> None:
        problems = compile_schema({"items": {"type": "string"}}).errors([1] * 100_000)
        assert len(problems) == validation.MAX_PROBLEMS


class TestCache:
    def test_the_same_schema_is_compiled_once(self) -> None:
        first = compile_schema({"type": "string", "minLength": 71})
        assert compile_schema({"minLength": 71, "type": "string"}) is first

    def test_true_and_one_are_different_schemas(self) -> None:
        assert compile_schema({"const": 1}) is not compile_schema({"const": True})

    def test_other_documents_or_options_make_another_validator(self) -> None:
        schema = {"$ref": "schema://x"}
        one = compile_schema(schema, documents={"schema://x": {"type": "string"}})
        two = compile_schema(schema, documents={"schema://x": {"type": "integer"}})
        assert one.is_valid("a")
        assert not two.is_valid("a")
        relaxed = compile_schema({"format": "email"}, assert_formats=False)
        assert relaxed.is_valid("nobody")
        assert not compile_schema({"format": "email"}).is_valid("nobody")

    def test_documents_that_a_schema_does_not_refer_to_make_no_difference(self) -> None:
        schema = {"type": "string", "minLength": 72}
        documents = SchemaDocuments({"schema://unrelated": True})
        assert compile_schema(schema, documents=documents) is compile_schema(schema)

    def test_the_cache_is_bounded(self) -> None:
        cache = validation._ValidatorCache(3)
        validators = [compile_schema({"const": f"bounded-{n}"}) for n in range(5)]
        for number, validator in enumerate(validators):
            cache.put(bytes([number]), validator)
        assert len(cache) == 3
        assert cache.get(bytes([0])) is None
        assert cache.get(bytes([4])) is validators[4]

    def test_checking_untrusted_schemas_evicts_nothing(self) -> None:
        before = len(validation._cache)
        for number in range(50):
            check_schema({"const": f"untrusted-{number}"})
        assert len(validation._cache) == before

    def test_threads_share_the_cache_without_harm(self) -> None:
        def work(number: int) -> bool:
            return compile_schema({"maximum": number % 7}).is_valid(number % 7)

        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(work, range(700)))
