"""The filters of the registry's lists."""

from __future__ import annotations

import json
from typing import Any

import django_filters  # type: ignore[import-untyped]
from django.db import connection
from django.db.models import Exists, OuterRef, Q, QuerySet, TextField, Value
from django.db.models.functions import Cast, StrIndex

from contextos.core.modes import ApprovalMode, CapabilityClass
from contextos.identity.models.tenants import EnvironmentName
from contextos.review.states import VersionState
from registry.models import (
    Adapter,
    AdapterVersion,
    Capability,
    ContextPackVersion,
    Finding,
    KillSwitch,
    PolicyBundleVersion,
)
from registry.models.kill_switches import KillScope

_MODES = [(mode.value, mode.value) for mode in ApprovalMode]
_CLASSES = [(item.value, item.value) for item in CapabilityClass]
_SEVERITIES = [(name, name) for name in ("block", "warn", "info")]
_TRUTHS = [(name, name) for name in ("true", "false")]  # a third word is refused, not ignored
_SWITCH_STATES = [(name, name) for name in ("thrown", "lifted", "all")]


class Filters(django_filters.FilterSet):  # type: ignore[misc]
    """The base of all: a choice that was left empty is refused, since it would list everything."""

    def is_valid(self) -> bool:
        """Whether every filter that was given says something."""
        for name, each in self.filters.items():
            if isinstance(each, django_filters.ChoiceFilter) and self.data.get(name) == "":
                self.form.add_error(name, "Choose one of the listed values, or leave it out.")
        return bool(super().is_valid())


class AdapterFilter(Filters):
    """`q` searches id, name and owner; `environment` keeps what is published there."""

    q = django_filters.CharFilter(method="search", max_length=200)
    environment = django_filters.ChoiceFilter(
        choices=EnvironmentName.choices, method="published_in"
    )

    class Meta:
        model = Adapter
        fields: list[str] = []

    def search(self, rows: QuerySet[Adapter], name: str, value: str) -> QuerySet[Adapter]:
        """Free text."""
        return rows.filter(
            Q(adapter_id__icontains=value)
            | Q(name__icontains=value)
            | Q(owner_role__icontains=value)
        )

    def published_in(self, rows: QuerySet[Adapter], name: str, value: str) -> QuerySet[Adapter]:
        """Adapters that have an active version there."""
        active = AdapterVersion.objects.filter(
            adapter=OuterRef("pk"), environment=value, state=VersionState.PUBLISHED
        )
        return rows.filter(Exists(active))


class VersionFilter(Filters):
    """By state and environment."""

    state = django_filters.ChoiceFilter(choices=VersionState.choices)
    environment = django_filters.ChoiceFilter(choices=EnvironmentName.choices)

    class Meta:
        model = AdapterVersion
        fields = ["state", "environment"]


class FindingFilter(Filters):
    """By severity and rule."""

    severity = django_filters.ChoiceFilter(choices=_SEVERITIES)
    rule = django_filters.CharFilter(max_length=100)

    class Meta:
        model = Finding
        fields = ["severity", "rule"]


def rows_with_intent(rows: QuerySet[Any], intent: str) -> QuerySet[Any]:
    """Rows whose list `intents` holds exactly this one; the same on both databases."""
    # SQLite keeps the list with \u escapes, PostgreSQL without.
    spelling = json.dumps(intent, ensure_ascii=connection.vendor == "sqlite")
    place = StrIndex(Cast("intents", TextField()), Value(spelling))
    found: QuerySet[Any] = rows.alias(intent_at=place).filter(intent_at__gt=0)
    return found


class CapabilityFilter(Filters):
    """The catalogue's filters; `q` searches id, description and domain."""

    mode = django_filters.ChoiceFilter(field_name="approval_mode", choices=_MODES)
    adapter = django_filters.CharFilter(field_name="version__adapter__adapter_id", max_length=100)
    environment = django_filters.ChoiceFilter(choices=EnvironmentName.choices)
    domain = django_filters.CharFilter(max_length=100)
    intent = django_filters.CharFilter(method="for_intent", max_length=200)
    q = django_filters.CharFilter(method="search", max_length=200)

    class Meta:
        model = Capability
        fields: list[str] = []

    def for_intent(self, rows: QuerySet[Capability], name: str, value: str) -> QuerySet[Capability]:
        """Exactly this intent among those listed."""
        return rows_with_intent(rows, value)

    def search(self, rows: QuerySet[Capability], name: str, value: str) -> QuerySet[Capability]:
        """Free text."""
        return rows.filter(
            Q(capability_id__icontains=value)
            | Q(description__icontains=value)
            | Q(domain__icontains=value)
        )


# `class` is a word of the language, so the filter can't be declared in the class body.
CapabilityFilter.base_filters["class"] = django_filters.ChoiceFilter(
    field_name="capability_class", choices=_CLASSES
)


class KillSwitchFilter(Filters):
    """Those that stop calls now, unless told otherwise."""

    scope = django_filters.ChoiceFilter(choices=KillScope.choices)
    state = django_filters.ChoiceFilter(choices=_SWITCH_STATES, method="in_state")

    class Meta:
        model = KillSwitch
        fields = ["scope"]

    def __init__(self, data: Any = None, *args: Any, **kwargs: Any) -> None:
        chosen = data.copy() if data is not None else {}
        chosen.setdefault("state", "thrown")
        super().__init__(chosen, *args, **kwargs)

    def in_state(self, rows: QuerySet[KillSwitch], name: str, value: str) -> QuerySet[KillSwitch]:
        """Thrown, lifted, or both."""
        return rows if value == "all" else rows.filter(lifted_at__isnull=value == "thrown")


class PackFilter(Filters):
    """`q` searches id and owner; `intent` keeps the packs that serve it."""

    q = django_filters.CharFilter(method="search", max_length=200)
    intent = django_filters.CharFilter(method="for_intent", max_length=200)

    class Meta:
        model = ContextPackVersion
        fields: list[str] = []

    def search(self, rows: QuerySet[Any], name: str, value: str) -> QuerySet[Any]:
        """Free text."""
        return rows.filter(Q(pack_id__icontains=value) | Q(owner_role__icontains=value))

    def for_intent(self, rows: QuerySet[Any], name: str, value: str) -> QuerySet[Any]:
        """Exactly this intent among those of the newest version."""
        return rows_with_intent(rows, value)


class PackVersionFilter(Filters):
    """By state."""

    state = django_filters.ChoiceFilter(choices=VersionState.choices)

    class Meta:
        model = ContextPackVersion
        fields = ["state"]


class PolicyFilter(Filters):
    """`q` searches id and owner."""

    q = django_filters.CharFilter(method="search", max_length=200)

    class Meta:
        model = PolicyBundleVersion
        fields: list[str] = []

    def search(self, rows: QuerySet[Any], name: str, value: str) -> QuerySet[Any]:
        """Free text."""
        return rows.filter(Q(bundle_id__icontains=value) | Q(owner_role__icontains=value))


class PolicyVersionFilter(Filters):
    """By state, and by whether it only watches."""

    state = django_filters.ChoiceFilter(choices=VersionState.choices)
    shadow = django_filters.TypedChoiceFilter(choices=_TRUTHS, coerce=lambda said: said == "true")

    class Meta:
        model = PolicyBundleVersion
        fields = ["state", "shadow"]
