"""Cases for tools that are too wide."""

from tests.registry.readiness.manifests import (
    READ,
    Cases,
    closed,
    named,
    read_input,
    write_input,
)

TEXT = {"type": "string"}
SOME_OBJECT = {"type": "object"}
HTTP = {"enum": ["GET", "POST", "DELETE"]}

CASES = {
    "tool.generic_request": Cases(
        fires=(
            read_input(closed(method=TEXT, path=TEXT, payload=SOME_OBJECT)),
            read_input(closed(http_method=HTTP, endpoint=TEXT)),
            read_input(closed(method={"const": "GET"}, path=TEXT)),
            read_input(closed(request=closed(method=TEXT, path=TEXT, body=SOME_OBJECT))),
            read_input(closed(method=TEXT, url={"type": "string", "format": "uri"}, body=TEXT)),
            read_input(closed(query=TEXT, variables=SOME_OBJECT)),
            read_input(closed(method=TEXT, params={})),
            read_input(closed(method=HTTP, url=TEXT)),
            read_input(closed(method=TEXT, url=TEXT)),
            read_input(closed(sql=TEXT)),
            read_input(closed(rawSql=TEXT, limit={"type": "integer"})),
            read_input(
                {
                    "$ref": "#/$defs/request",
                    "$defs": {"request": closed(method=TEXT, path=TEXT)},
                }
            ),
            read_input({"allOf": [closed(method=TEXT), {"properties": {"path": TEXT}}]}),
            named("payments.api_request"),
            named("payments.http_call"),
            {f"{READ}/mcp_tool_name": "graphql_query"},
        ),
        silent=(
            {},
            read_input(closed(method={"enum": ["card", "upi"]}, path=TEXT)),
            read_input(closed(payment_method=TEXT, path=TEXT)),
            read_input(closed(path=TEXT)),
            read_input(closed(url=TEXT)),
            read_input(closed(method={"enum": ["GET", "HEAD"]}, url=TEXT)),
            read_input(closed(sql={"enum": ["daily_totals", "weekly_totals"]})),
            read_input(closed(sql_dialect=TEXT)),
            read_input(closed(url=TEXT, headers=SOME_OBJECT)),
            read_input(closed(query=TEXT, limit={"type": "integer"})),
            read_input(closed(query=TEXT, variables=closed(id=TEXT))),
            read_input(closed(method=TEXT, path={"enum": ["/refunds"]})),
            read_input(closed(method=TEXT, path={"type": "string", "pattern": "^/refunds/"})),
            read_input(closed(method=HTTP, path=TEXT))
            | {f"{READ}/arg_constraints": {"path": {"enum": ["/refunds"]}}},
            read_input(closed(method=TEXT, params=closed(id=TEXT))),
            named("payments.request_refund"),
            named("support.call_customer"),
            named("api_keys.revoke"),
        ),
    ),
    "tool.read_write_mixed": Cases(
        fires=(
            read_input(closed(method={"enum": ["GET", "POST"]})),
            read_input(closed(action={"enum": ["get", "delete"]})),
            read_input(closed(operation={"type": "string", "enum": ["list", "create", "update"]})),
            write_input(closed(action={"oneOf": [{"const": "read"}, {"const": "write"}]})),
            read_input(closed(op={"enum": ["get_order", "cancel_order"]})),
            read_input(closed(order=closed(command={"enum": ["status", "restart"]}))),
            read_input(closed(order_id=TEXT, delete={"type": "boolean"})),
            read_input(closed(order_id=TEXT, dry_run={"type": "boolean"})),
            named("orders.lookup_or_cancel"),
            named("orders.get_or_create_order"),
            named("files.read_write"),
            named("orders.lookup", "find_and_update_order"),
        ),
        silent=(
            {},
            read_input(closed(action={"enum": ["get", "list", "search"]})),
            write_input(closed(action={"enum": ["create", "update", "delete"]})),
            read_input(closed(method={"enum": ["GET", "HEAD"]})),
            read_input(closed(status={"enum": ["get", "delete"]})),
            read_input(closed(action=TEXT)),
            read_input(closed(payment_method={"enum": ["get", "post"]})),
            read_input(closed(action={"enum": ["approve", "reject"]})),
            read_input(closed(mode={"enum": ["fast", "safe"]})),
            read_input(closed(action={"enum": ["get", "delete"]}))
            | {f"{READ}/arg_constraints": {"action": {"enum": ["get"]}}},
            write_input(closed(dry_run={"type": "boolean"})),
            read_input(closed(delete={"const": False})),
            read_input(closed(deleted={"type": "boolean"})),
            read_input(closed(update=TEXT)),
            named("orders.get_refund"),
            named("orders.list_deleted"),
            named("orders.get_update_history"),
            named("orders.search_and_list"),
            named("terms.get_terms_and_conditions"),
        ),
    ),
}
