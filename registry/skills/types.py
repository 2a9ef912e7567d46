"""What a skill says, as frozen types."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RequiredCapability:
    """A capability a skill is made of; the class is checked where the skill states one."""

    name: str
    capability_class: str | None = None


@dataclass(frozen=True, slots=True)
class Skill:
    """A named bundle of capabilities that have to be permitted already."""

    skill_id: str
    version: str
    required: tuple[RequiredCapability, ...]
    preconditions: tuple[str, ...] = ()
    postconditions: tuple[str, ...] = ()
    purpose: str = ""
    owner_role: str = ""
    prompt_fragment_ref: str = ""
    evaluation_set_ref: str = ""

    @property
    def ref(self) -> str:
        """`skill_id@version`."""
        return f"{self.skill_id}@{self.version}" if self.version else self.skill_id
