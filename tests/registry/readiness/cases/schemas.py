"""Cases for the manifest's JSON Schemas and for evidence."""

from typing import Any

from tests.registry.readiness.manifests import (
    DELETE,
    READ,
    WRITE,
    Cases,
    closed,
    read_input,
    read_output,
    write_input,
    write_property,
)

TEXT = {"type": "string"}
DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"


def _extra(schema: Any) -> dict[str, Any]:
    return {"/schemas/schema:~1~1extra.v1": schema}


def _dialect(uri: Any) -> dict[str, Any]:
    return _extra({"$schema": uri, "type": "object"})


NOTES = {"/schema_dialect_notes": "The vendor's generator writes draft-07."}

CASES = {
    "schema.invalid": Cases(
        fires=(
            write_property("amount", {"type": "money"}),
            write_property("amount", {"minimum": "1"}),
            write_property("amount", {"required": "yes"}),
            write_property("code", {"pattern": "["}),
            write_property("code", {"pattern": "^(?=x)y$"}),
            write_property("code", {"pattern": r"^(a)\1$"}),
            write_property("code", 7),
            _extra("not a schema"),
            _extra(None),
            _extra([]),
            _dialect("https://example.com/my-dialect"),
            read_input({"type": "string"}),
            read_input({"type": ["array", "null"]}),
            {"/elicitation": [{"elicitation_id": "a", "mode": "form", "schema": {"type": "x"}}]},
            _extra({"items": [TEXT]}),
        ),
        silent=(
            {},
            _extra(True),
            _extra({}),
            _extra({"x-internal": {"type": "money"}, "title": "Extra"}),
            _extra({"const": {"type": "money"}}),
            _extra({"properties": {"type": TEXT, "required": {"type": "boolean"}}}),
            write_property("code", {"type": "string", "pattern": "^(a+)+$"}),
            write_property("code", {"type": "string", "pattern": r"^\/v1\/[\w\-\.]+$"}),
            _extra({"$schema": DRAFT_7, "items": [TEXT]}) | NOTES,
            _extra({"$schema": DRAFT_2020}),
            _extra({"$ref": "schema://nowhere"}),
            read_input({"$ref": "#/$defs/a", "$defs": {"a": closed(a=TEXT)}}),
            read_input({"type": ["object", "null"]}),
        ),
    ),
    "schema.unresolved_ref": Cases(
        fires=(
            {f"{READ}/input_schema_ref": "schema://payments.lookup.input.v9"},
            {f"{READ}/output_schema_ref": "payments.lookup.output.v9"},
            {f"{WRITE}/input_schema_ref": "https://schemas.example.com/refund.json"},
            {"/schemas": DELETE},
            write_property("a", {"$ref": "#/$defs/none"}),
            write_property("a", {"$ref": "https://json.example.com/a.json"}),
            write_property("a", {"$ref": "file:///etc/passwd"}),
            write_property("a", {"$ref": "schema://nowhere"}),
            _extra({"$defs": {"unused": {"$ref": "#nowhere"}}}),
            write_property("a", {"$dynamicRef": "#nowhere"}),
        ),
        silent=(
            {},
            {f"{READ}/input_schema_ref": DELETE},
            {f"{READ}/input_schema_ref": "payments.lookup_transaction.input.v1"},
            {f"{READ}/input_schema_ref": DELETE, f"{READ}/input_schema": closed(a=TEXT)},
            write_property("a", {"$ref": "schema://payments.lookup_transaction.input.v1"}),
            write_property("a", {"$ref": "payments.lookup_transaction.input.v1#/properties"}),
            write_property("a", {"$ref": "#/properties/amount_inr"}),
            _extra({"properties": {"$ref": TEXT}}),
            _extra({"const": {"$ref": "#/nowhere"}, "examples": [{"$ref": "x"}]}),
            _extra({"$defs": {"a": {"$anchor": "here"}}, "$ref": "#here"}),
            _extra({"$ref": "https://json-schema.org/draft/2020-12/schema"}),
        ),
    ),
    "schema.dialect.undeclared": Cases(
        fires=(
            _dialect(DRAFT_7),
            _dialect("http://json-schema.org/draft-04/schema#"),
            _dialect("https://json-schema.org/draft/2019-09/schema"),
            _dialect("https://example.com/my-dialect"),
            _dialect(DRAFT_7) | {"/schema_dialect_notes": "  "},
            _extra({"items": [TEXT]}),
            _extra({"properties": {"a": {"minimum": 0, "exclusiveMinimum": True}}}),
            write_property("a", {})
            | write_input({"$schema": DRAFT_7, "type": "object", "additionalProperties": False}),
        ),
        silent=(
            {},
            _dialect(DRAFT_7) | NOTES,
            _dialect("http://json-schema.org/draft-04/schema#") | NOTES,
            _dialect(DRAFT_2020),
            _dialect(DRAFT_2020 + "#"),
            _extra({"definitions": {"a": TEXT}, "$ref": "#/definitions/a"}),
            _extra({"properties": {"$schema": TEXT}}),
            _extra({"$schema": DRAFT_7, "items": [TEXT]}) | NOTES,
            _extra({"prefixItems": [TEXT], "items": False, "exclusiveMinimum": 0}),
            _extra({"properties": {"items": TEXT}, "const": {"items": [1]}}),
            _extra({"const": {"$schema": DRAFT_7}}),
        ),
    ),
    "output_schema.missing_for_decision": Cases(
        fires=(
            {f"{READ}/output_schema_ref": DELETE},
            {f"{WRITE}/output_schema_ref": ""},
            {f"{WRITE}/output_schema_ref": None},
            {
                f"{READ}/output_schema_ref": DELETE,
                f"{READ}/decision_bindings": DELETE,
                f"{READ}/decision_binding": "decision.support.refund.eligibility",
            },
        ),
        silent=(
            {},
            {f"{READ}/output_schema_ref": DELETE, f"{READ}/decision_bindings": DELETE},
            {f"{READ}/output_schema_ref": DELETE, f"{READ}/decision_bindings": []},
            {f"{READ}/output_schema_ref": DELETE, f"{READ}/output_schema": closed(a=TEXT)},
            {f"{READ}/output_schema_ref": "schema://nowhere"},
            {f"{READ}/input_schema_ref": DELETE},
        ),
    ),
    "evidence.key_not_in_output": Cases(
        fires=(
            {f"{READ}/evidence_keys/3": "invoice_id"},
            {f"{READ}/evidence_keys": ["Transaction_ID"]},
            {f"{READ}/output_schema_ref": DELETE, f"{READ}/decision_bindings": DELETE},
            read_output(closed(a=TEXT), ["a.b"]),
            read_output(closed(refund=closed(id=TEXT)), ["refund.number"]),
            read_output(closed(refund=closed(id=TEXT)), ["/refund/number"]),
            read_output({"type": "object"}, ["anything"]),
            read_output({}, ["anything"]),
            read_output(closed(a=False), ["a"]),
            read_output({"not": closed(a=TEXT)}, ["a"]),
            read_output(closed(rows={"type": "array", "items": closed(id=TEXT)}), ["rows.id"]),
        ),
        silent=(
            {},
            {f"{READ}/evidence_keys": []},
            {f"{READ}/evidence_keys": DELETE},
            {f"{READ}/output_schema_ref": DELETE},
            {f"{READ}/output_schema_ref": "schema://nowhere"},
            read_output(closed(refund=closed(id=TEXT)), ["refund.id", "/refund/id", "$.refund.id"]),
            read_output({"properties": {"refund.id": TEXT}}, ["refund.id"]),
            read_output({"properties": {"a/b": TEXT}}, ["a/b", "/a~1b"]),
            read_output({"allOf": [closed(a=TEXT), {"properties": {"b": TEXT}}]}, ["a", "b"]),
            read_output({"oneOf": [closed(a=TEXT), closed(b=TEXT)]}, ["a", "b"]),
            read_output({"anyOf": [{"oneOf": [closed(a=TEXT)]}, closed(b=TEXT)]}, ["a", "b"]),
            read_output({"$ref": "#/$defs/x", "$defs": {"x": closed(a=TEXT)}}, ["a"]),
            read_output({"$ref": "schema://payments.issue_refund.output.v1"}, ["refund_id"]),
            read_output({"$ref": "#x", "$defs": {"x": closed(a=TEXT) | {"$anchor": "x"}}}, ["a"]),
            read_output({"if": {}, "then": closed(a=TEXT), "else": closed(b=TEXT)}, ["a", "b"]),
            read_output({"required": ["a"]}, ["a"]),
            read_output({"patternProperties": {"^ref_": TEXT}}, ["ref_1"]),
            read_output({"additionalProperties": closed(id=TEXT)}, ["any", "any.id"]),
            read_output(
                closed(rows={"type": "array", "items": closed(id=TEXT)}),
                ["rows", "rows[].id", "rows.0.id", "/rows/0/id", "rows[*].id"],
            ),
            read_output({"properties": {"child": {"$ref": "#"}}}, ["child.child.child"]),
            read_output({"$ref": "schema://nowhere"}, ["a"]),
        ),
    ),
}
