"""Models put together without Django's ceremony, for the few that every governed call makes.

`Model.__init__` sends two signals and sets each member through a descriptor, which costs more than
the database's answer. Nobody here listens to those signals, and a member is set by its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from django.db import DEFAULT_DB_ALIAS
from django.db.models import Model
from django.db.models.base import ModelState

M = TypeVar("M", bound=Model)


def blank(model: type[Model]) -> dict[str, Any]:
    """What every column holds where nobody says otherwise; to be filled in and passed on."""
    return {field.attname: field.get_default() for field in model._meta.concrete_fields}


def plain_model(model: type[M], members: Mapping[str, Any], *, stored: bool) -> M:
    """A model with exactly these members; every column has to be among them."""
    made = model.__new__(model)
    made._state = ModelState()
    made._state.db, made._state.adding = (DEFAULT_DB_ALIAS, False) if stored else (None, True)
    vars(made).update(members)
    return made
