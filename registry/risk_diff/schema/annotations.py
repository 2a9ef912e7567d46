"""The rule for keywords that check nothing but tell the model what to send."""

from collections.abc import Iterator
from dataclasses import replace

from registry.risk_diff.comparers import prose, replaced
from registry.risk_diff.place import Note
from registry.risk_diff.rulebook import schema_rule
from registry.risk_diff.schema.node import Node

_TEXTS = ("title", "description", "$comment")
_VALUES = ("examples", "default", "deprecated", "readOnly", "writeOnly")
_CONTENT = ("contentEncoding", "contentMediaType", "contentSchema")


@schema_rule("schema.annotation", *_TEXTS, *_VALUES, *_CONTENT)
def check_annotation(node: Node) -> Iterator[Note]:
    """Texts, defaults and examples in a schema steer the model, so another text needs a look."""
    for keyword in _TEXTS:
        yield from prose(node.keyword(keyword), f"{node.name}: the {keyword.strip('$')}")
    for keyword in (*_VALUES, *_CONTENT):
        for note in replaced(node.keyword(keyword), f"{node.name}: {keyword}"):
            # Null is a value here, not an absence.
            yield replace(note, direction=note.direction.UNKNOWN)
