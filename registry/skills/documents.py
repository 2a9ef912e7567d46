"""A skill document, in either notation of required capabilities: checked and read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from contextos.core.errors import ContextOSError
from contextos.review.semver import sort_key
from registry.documents import canonical_problems, refusal, schema_problems
from registry.preconditions import logic_of
from registry.skills.types import RequiredCapability, Skill
from registry.validation import Problem


def check_skill(document: Any) -> tuple[Problem, ...]:
    """Everything that forbids publishing a skill, without looking at any other artefact."""
    return (
        schema_problems(document, "skill")
        or canonical_problems(document)
        or tuple(meaning_problems(document, ""))
    )


def parse_skill(document: Any) -> Skill:
    """Check and read a skill; raises `skill.invalid` with every fault named."""
    problems = check_skill(document)
    if problems:
        raise refusal("skill.invalid", problems)
    return read_skill(document)


def meaning_problems(document: Mapping[str, Any], place: str) -> Iterator[Problem]:
    """What the schema can't see: conditions nobody could evaluate, a capability named twice."""
    for member in ("preconditions", "postconditions"):
        for index, text in enumerate(document.get(member, ())):
            try:
                logic_of(text)
            except ContextOSError as error:
                yield Problem(f"{place}/{member}/{index}", error.message, member)
    names = [item.name for item in required_capabilities(document)]
    if len(set(names)) != len(names):
        message = "A capability is named twice."
        yield Problem(f"{place}/required_capabilities", message, "required_capabilities")


def read_skill(document: Mapping[str, Any]) -> Skill:
    """A skill as far as it can be read; what is malformed reads as something that fails."""
    return Skill(
        skill_id=_text(document, "skill_id"),
        version=_text(document, "version"),
        required=tuple(required_capabilities(document)),
        preconditions=_conditions(document, "preconditions"),
        postconditions=_conditions(document, "postconditions"),
        purpose=_text(document, "purpose"),
        owner_role=_text(document, "owner_role"),
        prompt_fragment_ref=_text(document, "prompt_fragment_ref"),
        evaluation_set_ref=_text(document, "evaluation_set_ref"),
    )


def required_capabilities(document: Mapping[str, Any]) -> Iterator[RequiredCapability]:
    """Both notations: a bare name, or an object with the name and the class expected of it."""
    listed = document.get("required_capabilities")
    for item in listed if isinstance(listed, list) else ():
        if isinstance(item, Mapping):
            name = _text(item, "name") or _text(item, "capability_id")
            yield RequiredCapability(name, _text(item, "capability_class") or None)
        else:
            yield RequiredCapability(item if isinstance(item, str) else "")


def newest(skills: Iterable[Skill]) -> dict[str, Skill]:
    """Skills by id, of several versions the highest, and each by `skill_id@version` too."""
    found: dict[str, Skill] = {}
    for skill in skills:
        known = found.get(skill.skill_id)
        if known is None or sort_key(skill.version) > sort_key(known.version):
            found[skill.skill_id] = skill
        found[skill.ref] = skill if skill.version else found[skill.skill_id]
    return found


def _text(owner: Mapping[str, Any], name: str) -> str:
    value = owner.get(name)
    return value if isinstance(value, str) else ""


def _conditions(owner: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = owner.get(name)
    if value is None:
        return ()
    if not isinstance(value, list):
        return ("",)
    return tuple(item if isinstance(item, str) else "" for item in value)
