"""What installed apps contribute to tables of lower layers, found without importing upwards."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

from django.apps import apps
from django.utils.module_loading import module_has_submodule


def contributed_modules(name: str) -> Iterator[ModuleType]:
    """The module called `name` of every app that has one, in the order of the settings."""
    for config in apps.get_app_configs():
        if config.module is not None and module_has_submodule(config.module, name):
            yield import_module(f"{config.name}.{name}")
