"""Skills: named bundles of capabilities that are permitted already. Pure."""

from registry.skills.documents import (
    check_skill,
    meaning_problems,
    newest,
    parse_skill,
    read_skill,
)
from registry.skills.types import RequiredCapability, Skill

__all__ = [
    "RequiredCapability",
    "Skill",
    "check_skill",
    "meaning_problems",
    "newest",
    "parse_skill",
    "read_skill",
]
