"""Cases for resources, templates, icons and release notes."""

from typing import Any

from tests.registry.readiness.manifests import DELETE, WRITE, Cases

_RESOURCE: dict[str, Any] = {
    "uri": "payments://refund-rules",
    "name": "Refund rules",
    "mimeType": "text/markdown",
    "size_bytes": 2048,
    "classification": "INTERNAL",
    "source": "payments handbook",
    "access": {"roles": ["support"], "intents": ["support.refund"]},
    "freshness": {"kind": "version", "field": "handbook_version"},
    "evidence_ref": "payments:refund-rules",
}


def _resource(**members: Any) -> dict[str, Any]:
    given = {**_RESOURCE, **members}
    return {"/resources": [{name: value for name, value in given.items() if value is not DELETE}]}


def _template(template: str, **constraints: Any) -> dict[str, Any]:
    item = {"uri_template": template, "parameter_constraints": constraints}
    return {"/resource_templates": [item]}


def _icon(src: Any, **more: Any) -> dict[str, Any]:
    return {f"{WRITE}/icons": [{"src": src}], **{f"/{name}": value for name, value in more.items()}}


DATE = {"pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}

CASES = {
    "resource.classification.missing": Cases(
        fires=(
            _resource(classification=DELETE),
            _resource(classification=""),
            _resource(classification=None),
            _resource(classification="SECRET"),
            _resource(classification="not internal"),
            _resource(classification=2),
        ),
        silent=(
            {},
            _resource(),
            _resource(classification="PUBLIC"),
            _resource(classification="internal"),
            _resource(classification="CONFIDENTIAL"),
            _resource(classification="RESTRICTED"),
            {"/resources": []},
            _template("payments://day/{date}", date=DATE),
        ),
    ),
    "resource.metadata_missing": Cases(
        fires=(
            _resource(mimeType=DELETE),
            _resource(source=""),
            _resource(freshness={}),
            _resource(evidence_ref=DELETE),
            _resource(size_bytes=None),
        ),
        silent=(
            {},
            _resource(),
            _resource(size_bytes=0),
            _resource(name=DELETE),
            {"/resources": []},
            _resource(classification=DELETE),
        ),
    ),
    "resource_template.unconstrained": Cases(
        fires=(
            _template("file:///{path}"),
            _template("file:///{+path}"),
            _template("payments://day/{date}/{kind}", date=DATE),
            _template("payments://search{?q,lang}", lang={"enum": ["en", "hi"]}),
            _template("file:///{path}", path={}),
            _template("file:///{path}", path={"pattern": ""}),
            _template("file:///{path}", path={"pattern": ".*"}),
            _template("file:///{path}", path={"pattern": "^.+$"}),
            _template("file:///{path}", path={"pattern": "[\\s\\S]*"}),
            _template("file:///{path}", path={"enum": []}),
            _template("file:///{path}", path={"pattern": "^(?=a)"}) | {"/name": "x"},
            {"/resource_templates": [{"uri_template": "file:///{path}"}]},
            _template("file:///{path}", path="anything"),
            _resource(uri="file:///{path}"),
        ),
        silent=(
            {},
            _template("payments://rules"),
            _resource(uri="payments://day/{date}", parameter_constraints={"date": DATE}),
            _template("payments://day/{date}", date=DATE),
            _template("payments://day/{date:10}", date=DATE),
            _template("payments://rules/{lang}", lang={"enum": ["en"]}),
            _template("file:///{path}", path={"pattern": "^[^/]+$"}),
            _template("file:///{/path*}", path={"pattern": "^docs(/[a-z]+)*$"}),
            {"/resource_templates": []},
        ),
    ),
    "icon.unsafe_scheme": Cases(
        fires=(
            _icon("javascript:alert(1)"),
            _icon("JaVaScRiPt:alert(1)"),
            _icon(" java\nscript:alert(1)"),
            _icon("file:///etc/passwd"),
            _icon("http://payments.example.com/icon.png"),
            _icon("data:text/html,<script>1</script>"),
            _icon("ftp://a.example.com/icon.png"),
            _icon("//a.example.com/icon.png"),
            _icon("blob:https://a.example.com/1"),
            {"/icons": [{"src": "vbscript:x"}]},
            {"/icons": ["javascript:alert(1)"]},
            {"/prompts": [{"name": "a", "version": "1", "icons": [{"src": "ws://a.example.com"}]}]},
        ),
        silent=(
            {},
            _icon("https://payments.example.com/icon.png"),
            _icon("HTTPS://payments.example.com/icon.png"),
            _icon("data:image/png;base64,iVBORw0KGgo="),
            _icon("data:image/svg+xml,<svg/>"),
            _icon("icons/refund.png"),
            {"/icons": ["https://payments.example.com/icon.png", 7, None]},
            _icon("https://payments.example.com/?next=javascript:1"),
            _icon("http://127.0.0.1/icon.png", environment="development"),
            _icon(None),
        ),
    ),
    "release.notes_missing": Cases(
        fires=(
            {"/rollout_notes": DELETE},
            {"/rollback_notes": DELETE},
            {"/rollout_notes": "  "},
            {"/rollback_notes": ["republish"]},
        ),
        silent=(
            {},
            {"/rollout_notes": "All at once."},
            {"/version": DELETE},
            {"/observability": DELETE},
            {"/protocol_version_reason": "x"},
        ),
    ),
}
