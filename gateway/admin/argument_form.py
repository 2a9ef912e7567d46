"""A form made from an input schema: one field per member, what is not plain as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from django import forms

from contextos.core import strict_json
from contextos.core.errors import ContextOSError
from contextos.core.secret_schemas import secret_pointers
from contextos.core.text import single_line

MOST_FIELDS = 40
LONGEST = 20_000
_NOTHING = [("", "not given")]
_NUMBERS = {"integer": forms.IntegerField, "number": forms.FloatField}


class ArgumentsForm(forms.Form):
    """Whether the arguments fit is for the gateway to say; the form only asks for them."""

    def __init__(self, *args: Any, schema: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._names: dict[str, str] = {}
        members = _members(schema)
        if members is None:
            self.fields["whole"] = _json_field("Arguments", required=True, initial="{}")
            return
        needed = schema.get("required")
        needed = needed if isinstance(needed, list) else []
        secret = set(secret_pointers(schema))
        for index, (name, member) in enumerate(members.items()):
            # By position: a member may have any name, and no name of a field depends on it.
            key = f"m{index}"
            self._names[key] = name
            self.fields[key] = _field(
                name, member, required=name in needed, secret=f"/{name}" in secret
            )

    def clean_whole(self) -> dict[str, Any]:
        """One box takes any JSON, and a call takes an object."""
        value = self.cleaned_data["whole"]
        if not isinstance(value, dict):
            raise forms.ValidationError("The arguments are an object, such as {}.")
        return value

    def arguments(self) -> dict[str, Any]:
        """What was given; an optional field left empty is left out."""
        if "whole" in self.fields:
            return dict(self.cleaned_data["whole"])
        given = {name: self.cleaned_data[key] for key, name in self._names.items()}
        return {name: value for name, value in given.items() if value not in (None, "")}


def _members(schema: Any) -> Mapping[str, Any] | None:
    """The members of a plain object; None where one box for the whole is better."""
    found = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(found, Mapping) or not 0 < len(found) <= MOST_FIELDS:
        return None
    return found


def _field(name: str, member: Any, *, required: bool, secret: bool) -> forms.Field:
    member = member if isinstance(member, Mapping) else {}
    kind = _kind(member)
    label = single_line(name, limit=80)
    common: dict[str, Any] = {
        "label": label,
        "required": required,
        "help_text": _help(member),
        "initial": _initial(member),
    }
    choices = member.get("enum")
    if isinstance(choices, list) and choices and all(isinstance(item, str) for item in choices):
        return forms.ChoiceField(choices=_choices(choices, required), **common)
    if kind == "boolean":
        return _BooleanField(**{**common, "initial": _as_json(common["initial"])})
    if kind in _NUMBERS:
        return _NUMBERS[kind](**common)
    if kind != "string":
        return _json_field(**{**common, "initial": _as_json(common["initial"])})
    if secret:
        return forms.CharField(widget=forms.PasswordInput(render_value=False), **common)
    return forms.CharField(max_length=LONGEST, strip=False, **common)


def _kind(member: Mapping[str, Any]) -> str:
    kind = member.get("type")
    if isinstance(kind, list):
        plain = [item for item in kind if item != "null"]
        kind = plain[0] if len(plain) == 1 else None
    return kind if isinstance(kind, str) else ""


def _initial(member: Mapping[str, Any]) -> Any:
    """What the schema itself suggests."""
    if "default" in member:
        return member["default"]
    if "const" in member:
        return member["const"]
    examples = member.get("examples")
    return examples[0] if isinstance(examples, list) and examples else None


def _help(member: Mapping[str, Any]) -> str:
    words = [single_line(str(member.get("description") or ""), limit=200)]
    pattern = member.get("pattern")
    words.append(f"Has to match {single_line(pattern, limit=120)}" if pattern else "")
    return " ".join(word for word in words if word)


def _choices(values: list[str], required: bool) -> list[tuple[str, str]]:
    shown = [(value, single_line(value, limit=80)) for value in values]
    return shown if required else [*_NOTHING, *shown]


def _as_json(value: Any) -> str:
    return "" if value is None else orjson.dumps(value).decode()


def _json_field(label: str, *, required: bool, initial: str, help_text: str = "") -> forms.Field:
    words = f"{help_text} Written as JSON.".strip()
    widget = forms.Textarea(attrs={"rows": 4, "class": "reg-json", "spellcheck": "false"})
    return _JsonField(
        label=label, required=required, initial=initial, help_text=words, widget=widget
    )


class _BooleanField(forms.ChoiceField):
    """Three answers: an optional flag left alone is not the same as false."""

    def __init__(self, **how: Any) -> None:
        answers = [("true", "yes"), ("false", "no")]
        super().__init__(choices=[*_NOTHING, *answers], **how)

    def clean(self, value: Any) -> Any:
        """True, False or nothing."""
        return {"true": True, "false": False}.get(super().clean(value))


class _JsonField(forms.CharField):
    """Strict JSON, as the gateway reads it."""

    def clean(self, value: Any) -> Any:
        """The value itself."""
        text = super().clean(value)
        if not text:
            return None
        try:
            return strict_json.loads(text.encode())
        except ContextOSError as fault:
            raise forms.ValidationError(fault.message) from fault
