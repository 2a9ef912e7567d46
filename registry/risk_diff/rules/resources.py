"""Rules for resources, resource templates and prompts."""

from collections.abc import Iterator

from registry.risk_diff.comparers import (
    UNKNOWN,
    WIDENS,
    Absent,
    ceiling,
    grants,
    prose,
    ranked,
    replaced,
)
from registry.risk_diff.place import Note, Place
from registry.risk_diff.rulebook import EVERY_MEMBER, Scope, rule
from registry.risk_diff.wording import show_text

_CLASSIFICATIONS = ("PUBLIC", "INTERNAL", "CONFIDENTIAL", "RESTRICTED")
_TEXTS = ("name", "title", "description")
_VALUES = ("mimeType", "source", "evidence_ref", "annotations")


def _classification(entry: Place) -> Iterator[Note]:
    place = entry.at("classification")
    yield from ranked(place, "The classification", _CLASSIFICATIONS, raised=UNKNOWN, lowered=WIDENS)


def _access(entry: Place) -> Iterator[Note]:
    for name in ("roles", "intents"):
        place = entry.at("access", name)
        yield from grants(place, f"The {name} that may read it", absent=Absent.UNCLEAR)


def _metadata(entry: Place) -> Iterator[Note]:
    for name in _TEXTS:
        yield from prose(entry.at(name), f"The {name}")
    for name in _VALUES:
        yield from replaced(entry.at(name), f"The {name}")
    yield from ceiling(entry.at("size_bytes"), "The size", unit="bytes", absent=Absent.UNCLEAR)
    yield from replaced(entry.at("freshness"), "The sign of freshness", removed=WIDENS)


@rule("resource.classification", Scope.RESOURCE, "classification")
def check_classification(resource: Place) -> Iterator[Note]:
    """A lower label means less care with the same contents; a higher one, that the contents are
    more delicate than reviewers knew."""
    yield from _classification(resource)


@rule("resource.access", Scope.RESOURCE, "access.roles", "access.intents")
def check_access(resource: Place) -> Iterator[Note]:
    """Every role and intent listed may read it."""
    yield from _access(resource)


@rule("resource.metadata", Scope.RESOURCE, *_TEXTS, *_VALUES, "size_bytes", "freshness")
def check_metadata(resource: Place) -> Iterator[Note]:
    """These say what the contents are, where they come from and how they can be cited."""
    yield from _metadata(resource)


@rule("template.classification", Scope.TEMPLATE, "classification")
def check_template_classification(template: Place) -> Iterator[Note]:
    """A lower label means less care with everything the template can reach."""
    yield from _classification(template)


@rule("template.access", Scope.TEMPLATE, "access.roles", "access.intents")
def check_template_access(template: Place) -> Iterator[Note]:
    """Every role and intent listed may read whatever the template can reach."""
    yield from _access(template)


@rule("template.metadata", Scope.TEMPLATE, *_TEXTS, *_VALUES, "size_bytes", "freshness")
def check_template_metadata(template: Place) -> Iterator[Note]:
    """These say what the contents are, where they come from and how they can be cited."""
    yield from _metadata(template)


@rule("prompt.contents", Scope.PROMPT, EVERY_MEMBER)
def check_prompt(prompt: Place) -> Iterator[Note]:
    """A prompt is text that models follow; any other text may tell them something else."""
    for name, place in prompt.members():
        yield from prose(place, f"The prompt's {show_text(name)}")
