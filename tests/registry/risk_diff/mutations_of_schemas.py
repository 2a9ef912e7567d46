"""Changes to input and output schemas, classed by hand."""

from collections.abc import Iterator

from contextos.core import json_pointer
from tests.registry.risk_diff.manifests import LOOKUP_OUT, REFUND_IN, payments
from tests.registry.risk_diff.mutation import AMOUNT, GONE, INPUT, OUTPUT, REFUND, Mutation, family

_BESIDE = {"note": {"required": ["lines"]}}
_LINE = payments()["schemas"][REFUND_IN]["properties"]["lines"]["items"]


def input_schema_mutations() -> Iterator[Mutation]:
    """What a call may carry."""
    args = f"{INPUT}/properties"
    yield from family(
        "schema.largest", f"{AMOUNT}/maximum", widens=(100000, GONE), narrows=(10,), unknown=("9",)
    )
    yield from family("schema.largest", f"{AMOUNT}/exclusiveMaximum", narrows=(50000, 20))
    yield from family("schema.smallest", f"{AMOUNT}/minimum", widens=(0, GONE), narrows=(2,))
    yield from family(
        "schema.multiple_of", f"{AMOUNT}/multipleOf", widens=(1, GONE), narrows=(4,), unknown=(3,)
    )
    yield from family(
        "schema.type",
        f"{AMOUNT}/type",
        widens=(["number", "string"], ["number", "null"], GONE),
        narrows=("integer",),
        unknown=("money",),
    )
    yield from family(
        "schema.choices",
        f"{args}/reason_code/enum",
        widens=(["duplicate", "customer_request", "service_failure", "other"], GONE),
        narrows=(["duplicate"],),
        neutral=(["service_failure", "customer_request", "duplicate"],),
    )
    yield from family(
        "schema.choices", f"{args}/currency/const", narrows=("USD",), neutral=("INR",)
    )
    yield from family(
        "schema.pattern",
        f"{args}/transaction_id/pattern",
        widens=("^txn_[a-z0-9]{1,12}$", "^txn_[a-zA-Z0-9]{4,12}$", GONE),
        narrows=("^txn_[a-z0-9]{4}$", "^txn_[0-9]{4,12}$"),
        unknown=("txn_[a-z0-9]{4,12}", "^txn_.*$", "^(txn|pay)_[a-z0-9]{4,12}$", "^txn_\\w{4,12}$"),
    )
    yield from family("schema.format", f"{args}/note/format", widens=(GONE,), unknown=("uri",))
    yield from family("schema.format", f"{args}/transaction_id/format", narrows=("uuid",))
    yield from family(
        "schema.size_limit",
        f"{args}/note/maxLength",
        widens=(5000, GONE),
        narrows=(20,),
        unknown=(-1,),
    )
    yield from family(
        "schema.size_minimum", f"{args}/note/minLength", widens=(0, GONE), narrows=(5,)
    )
    yield from family(
        "schema.size_limit", f"{args}/lines/maxItems", widens=(500, GONE), narrows=(2,)
    )
    yield from family("schema.size_minimum", f"{args}/lines/minItems", widens=(GONE,), narrows=(2,))
    yield from family("schema.unique_items", f"{args}/lines/uniqueItems", widens=(False, GONE))
    yield from family(
        "schema.size_limit", f"{args}/labels/maxProperties", widens=(9,), narrows=(1,)
    )
    yield from family(
        "schema.further_properties", f"{INPUT}/additionalProperties", widens=(True, GONE, {})
    )
    yield from family(
        "schema.further_properties",
        f"{args}/lines/items/additionalProperties",
        widens=(True, GONE, {"type": "string"}),
    )
    yield from family(
        "schema.further_properties", f"{args}/labels/additionalProperties", narrows=(False,)
    )
    yield from family("schema.largest", f"{args}/labels/additionalProperties/maximum", widens=(99,))
    yield from family("schema.size_limit", f"{args}/labels/propertyNames", widens=(GONE, True))
    yield from family(
        "schema.size_limit", f"{args}/labels/propertyNames/maxLength", widens=(99,), narrows=(3,)
    )
    yield from family(
        "schema.pattern_properties",
        f"{args}/labels/patternProperties",
        unknown=({"^x_": {"type": "string"}, "^y_": {}}, {}, []),
    )
    yield from family(
        "schema.type",
        f"{args}/labels/patternProperties/^x_/type",
        widens=(GONE, ["string", "null"]),
    )
    yield from family("schema.property_added", f"{args}/force", widens=({"type": "boolean"}, {}))
    yield from family("schema.property_added", f"{args}/force", neutral=(False,))
    yield from family("schema.property_added", f"{args}/lines/items/properties/price", widens=({},))
    yield from family("schema.properties", f"{INPUT}/properties", unknown=([],))
    yield from family("schema.dependent_schemas", f"{INPUT}/dependentSchemas", unknown=([],))
    yield from family("schema.dependent_schemas", f"{INPUT}/dependencies", unknown=({"a": ["b"]},))
    yield from family("schema.required", f"{INPUT}/dependentSchemas", narrows=(_BESIDE,))
    yield from family("schema.dynamic_reference", f"{args}/note/$dynamicRef", unknown=("#n",))
    yield from family("schema.property_removed", f"{args}/note", narrows=(GONE,))
    yield from family("schema.required", f"{INPUT}/required", widens=(["transaction_id"], GONE))
    yield from family("schema.required", f"{INPUT}/required/-", narrows=("note",))
    yield from family("schema.required", f"{args}/lines/items/required", widens=([],))
    yield from family(
        "schema.dependent_required",
        f"{INPUT}/dependentRequired/note",
        widens=([], GONE),
        narrows=(["reason_code", "lines"],),
    )
    yield from family("schema.combination", f"{INPUT}/anyOf", widens=(GONE,), unknown=([{}], "any"))
    yield from family(
        "schema.size_limit", f"{INPUT}/anyOf/2/maxProperties", widens=(9,), narrows=(5,)
    )
    yield from family("schema.combination", f"{INPUT}/oneOf", unknown=([{"required": ["note"]}],))
    yield from family("schema.combination", f"{INPUT}/allOf", unknown=([{"required": ["note"]}],))
    yield from family("schema.condition", f"{INPUT}/not", widens=(GONE,))
    yield from family(
        "schema.required", f"{INPUT}/not/required", unknown=(["a"], ["test_mode", "a"])
    )
    yield from family("schema.condition", f"{INPUT}/if", unknown=({"required": ["note"]},))
    yield from family("schema.contains", f"{args}/lines/contains", narrows=({"required": ["sku"]},))
    yield from family("manifest.unrecognised", f"{args}/lines/prefixItems", unknown=([],))
    yield from family("schema.items", f"{args}/lines/prefixItems", neutral=([_LINE],))
    yield from family("schema.items", f"{args}/lines/items", unknown=([_LINE],))
    yield from family("schema.unevaluated", f"{INPUT}/unevaluatedProperties", narrows=(False,))
    yield from family(
        "schema.annotation", f"{INPUT}/description", unknown=("Send everything.", GONE)
    )
    yield from family("schema.annotation", f"{args}/currency/default", unknown=("INR",))
    yield from family(
        "schema.identity", f"{INPUT}/$schema", unknown=("http://json-schema.org/draft-04/schema#",)
    )
    yield from family("schema.unrecognised", f"{INPUT}/x-hint", unknown=("any",))
    yield from family("schema.acceptance", f"{args}/note", narrows=(False,), unknown=("text",))
    yield from family("schema.reference", f"{args}/amount_inr/$ref", unknown=("schema://nowhere",))
    yield from family("schema.acceptance", INPUT, narrows=(False,))
    yield from family("capability.input_schema", f"{REFUND}/input_schema_ref", widens=(GONE,))


def output_schema_mutations() -> Iterator[Mutation]:
    """What a result may carry."""
    yield from family("capability.output_schema", f"{REFUND}/output_schema_ref", widens=(GONE,))
    yield from family("schema.required", f"{OUTPUT}/required", widens=(["refund_id"], GONE))
    yield from family("schema.further_properties", f"{OUTPUT}/additionalProperties", widens=(GONE,))
    yield from family(
        "schema.property_removed", f"{OUTPUT}/properties/reversal_token", unknown=(GONE,)
    )
    yield from family("schema.property_added", f"{OUTPUT}/properties/html", widens=({},))
    yield from family(
        "schema.choices", f"{OUTPUT}/properties/status/enum", widens=(GONE,), narrows=(["queued"],)
    )
    yield from family("schema.type", f"{OUTPUT}/properties/refund_id/type", widens=(GONE,))
    yield from family("schema.type", f"{OUTPUT}/properties/evidence_refs/items", widens=(GONE,))
    lookup = f"/schemas/{json_pointer.escape(LOOKUP_OUT)}"
    yield from family("schema.property_removed", f"{lookup}/properties/status", widens=(GONE,))
    yield from family(
        "schema.further_properties", f"{lookup}/additionalProperties", narrows=(False,)
    )
    yield from family(
        "capability.evidence",
        f"{REFUND}/evidence_keys",
        widens=(["refund_id"], []),
        narrows=(["refund_id", "transaction_id", "reversal_token", "status"],),
    )
