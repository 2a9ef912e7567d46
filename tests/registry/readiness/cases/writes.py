"""Cases for what a write must promise."""

from tests.registry.readiness.manifests import (
    DELETE,
    READ,
    WRITE,
    Cases,
    closed,
    read_input,
    schema_at,
    write_input,
    write_property,
)

TEXT = {"type": "string"}
READ_IN = schema_at("payments.lookup_transaction", "input")

CASES = {
    "write.idempotency.missing": Cases(
        fires=(
            {f"{WRITE}/idempotency": DELETE},
            {f"{WRITE}/idempotency/required": False},
            {f"{WRITE}/idempotency": {"dedup_window_seconds": 60}},
            {f"{WRITE}/idempotency": True},
            {f"{WRITE}/idempotency/required": "true"},
            {f"{WRITE}/idempotency": DELETE, f"{WRITE}/approval_mode": "network"},
            {f"{READ}/capability_class": "act", f"{READ}/approval_mode": "local_write"},
        ),
        silent=(
            {},
            {f"{READ}/idempotency": {"required": False}},
            {f"{READ}/approval_mode": "network"},
            {f"{READ}/capability_class": "verify", f"{READ}/approval_mode": "network"},
            {f"{WRITE}/idempotency": {"required": True}},
            {f"{WRITE}/idempotency/adapter_dedup": DELETE},
        ),
    ),
    "write.adapter_dedup_undeclared": Cases(
        fires=(
            {f"{WRITE}/idempotency/adapter_dedup": DELETE},
            {f"{WRITE}/idempotency/adapter_dedup": False},
            {f"{WRITE}/idempotency/adapter_dedup": "yes"},
        ),
        silent=(
            {},
            {f"{READ}/idempotency": {"required": True}},
            {f"{WRITE}/idempotency": DELETE},
            {f"{WRITE}/idempotency/required": False, f"{WRITE}/idempotency/adapter_dedup": False},
            {f"{WRITE}/idempotency/dedup_window_seconds": DELETE},
        ),
    ),
    "write.dedup_window_missing": Cases(
        fires=(
            {f"{WRITE}/idempotency/dedup_window_seconds": DELETE},
            {f"{WRITE}/idempotency/dedup_window_seconds": 0},
            {f"{WRITE}/idempotency/dedup_window_seconds": -60},
            {f"{WRITE}/idempotency/dedup_window_seconds": "86400"},
            {f"{WRITE}/idempotency/dedup_window_seconds": True},
        ),
        silent=(
            {},
            {f"{WRITE}/idempotency/dedup_window_seconds": 1},
            {f"{WRITE}/idempotency/dedup_window_seconds": 0.5},
            {f"{WRITE}/idempotency": DELETE},
            {f"{READ}/idempotency": {"required": True}},
        ),
    ),
    "write.freeform_payload": Cases(
        fires=(
            {f"{WRITE}/input_schema_ref": DELETE},
            write_input({"type": "object"}),
            write_input(
                {"type": "object", "additionalProperties": True, "properties": {"a": TEXT}}
            ),
            write_input({"type": "object", "properties": {"a": TEXT}}),
            write_input(True),
            write_input({}),
            write_property("payload", TEXT),
            write_property("payload", {"type": "object"}),
            write_property("details", {}),
            write_property("details", {"description": "anything you like"}),
            write_property("lines", {"type": "array"}),
            write_property("lines", {"type": "array", "items": {"type": "object"}}),
            write_property("sql", TEXT),
            write_property("event_payload", TEXT),
            write_property("document", TEXT | {"contentMediaType": "application/json"}),
            write_property("order", closed(meta={"type": "object", "properties": {"a": TEXT}})),
            write_property("either", {"anyOf": [TEXT, {"type": "object"}]}),
            write_property("many", {"type": ["string", "object"]}),
            write_input({"$ref": "#/$defs/x", "$defs": {"x": {"type": "object"}}}),
            write_input(
                {
                    "type": "object",
                    "properties": {"kind": TEXT},
                    "if": {"required": ["kind"]},
                    "then": {"additionalProperties": False},
                }
            ),
            write_property("map", {"type": "object", "additionalProperties": {}}),
        ),
        silent=(
            {},
            read_input({"type": "object"}),
            read_input(True),
            read_input({"type": "object", "additionalProperties": True}),
            {f"{READ_IN}/properties/filters": {"type": "object"}},
            {f"{READ_IN}/properties/payload": TEXT},
            {f"{READ}/input_schema_ref": DELETE},
            write_property("body", {"type": "string", "maxLength": 4000}),
            write_property("payload", {"type": "string", "enum": ["a", "b"]}),
            write_property("payload", {"type": "string", "pattern": "^[a-z]+$"}),
            write_property("payload", closed(a=TEXT)),
            write_property("payload_id", TEXT),
            write_property("note", TEXT | {"contentMediaType": "text/markdown"}),
            write_property("note", TEXT),
            write_property("tags", {"type": "array", "items": TEXT}),
            write_property("labels", {"type": "object", "additionalProperties": TEXT}),
            write_property("choice", {"enum": [{"a": 1}, "b"]}),
            write_property("maybe", {"anyOf": [TEXT, {"type": "null"}, closed(a=TEXT)]}),
            write_property("nothing", False),
            write_property("pair", {"type": "array", "prefixItems": [TEXT, TEXT], "items": False}),
            write_input(
                {
                    "type": "object",
                    "allOf": [{"properties": {"a": TEXT}}, {"properties": {"b": TEXT}}],
                    "unevaluatedProperties": False,
                }
            ),
            write_input({"$ref": "#/$defs/x", "$defs": {"x": closed(a=TEXT)}}),
            write_input(closed(child={"$ref": "#"})),
            write_input({"$ref": "schema://nowhere"}),
            write_input(
                {
                    "type": "object",
                    "propertyNames": {"enum": ["a", "b"]},
                    "properties": {"a": TEXT},
                }
            ),
        ),
    ),
    "gate.missing_for_destructive": Cases(
        fires=(
            {f"{WRITE}/requires_approval_gate": DELETE},
            {f"{WRITE}/requires_approval_gate": None},
            {f"{WRITE}/requires_approval_gate": ""},
            {f"{WRITE}/requires_approval_gate": True},
        ),
        silent=(
            {},
            {f"{WRITE}/requires_approval_gate": DELETE, f"{WRITE}/approval_mode": "delegated"},
            {f"{WRITE}/requires_approval_gate": DELETE, f"{WRITE}/approval_mode": "network"},
            {f"{WRITE}/requires_approval_gate": DELETE, f"{WRITE}/approval_mode": "local_write"},
            {f"{READ}/approval_mode": "network"},
            {f"{WRITE}/requires_approval_gate": "GATE_X"},
        ),
    ),
}
