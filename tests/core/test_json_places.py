"""Pointers find their line in the text, however it is laid out."""

import json
from typing import Any

import pytest
from hypothesis import given

from contextos.core.json_places import Position, locate
from contextos.core.json_pointer import walk
from tests.registry.readiness.manifests import example
from tests.registry.readiness.strategies import WILD_DOCUMENTS

pytestmark = pytest.mark.proves("B4")

TEXT = """{
  "name": "a \\" } tricky , name",
  "list": [
    {"x": 1},
    [true, {"deep/er": null}]
  ],
  "a~b": {}
}"""


def test_each_member_is_found_on_its_line() -> None:
    found = locate(TEXT, ["", "/name", "/list/0/x", "/list/1/1/deep~1er", "/a~0b"])
    assert found == {
        "": Position(1, 1),
        "/name": Position(2, 3),
        "/list/0/x": Position(4, 6),
        "/list/1/1/deep~1er": Position(5, 13),
        "/a~0b": Position(7, 3),
    }


def test_what_is_not_there_is_found_at_its_nearest_parent() -> None:
    found = locate(TEXT, ["/list/0/missing/deeper", "/nothing"])
    assert found["/list/0/missing/deeper"] == Position(4, 5)
    assert found["/nothing"] == Position(1, 1)


@given(WILD_DOCUMENTS)
def test_every_pointer_of_any_document_is_found_where_its_text_stands(document: Any) -> None:
    text = json.dumps(document, indent=1)
    lines = text.splitlines()
    pointers = {pointer for pointer, _ in walk(document) if pointer}
    for pointer, position in locate(text, pointers).items():
        last = pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
        shown = lines[position.line - 1][position.column - 1 :]
        assert shown.startswith(json.dumps(last)) or last.isdigit()


def test_a_large_document_is_scanned_once() -> None:
    document = example("payments") | {"rollout_notes": ["x"] * 50_000}
    text = json.dumps(document, indent=1)
    pointers = [f"/rollout_notes/{number}" for number in range(0, 50_000, 500)]
    found = locate(text, pointers)
    assert [found[p].line for p in pointers] == sorted(found[p].line for p in pointers)
