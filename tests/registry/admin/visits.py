"""Visits to the registry's pages by the people of a house."""

from __future__ import annotations

from typing import Any

from django.test import Client
from django.urls import reverse

from registry.models import AdapterVersion
from tests.identity.signed_in import browser_of
from tests.registry.house import House


def browser(house: House, name: str) -> Client:
    """A signed-in browser of somebody of the house."""
    return browser_of(house.user(name), house.tenant)


def page(name: str, *arguments: Any) -> str:
    """The address of an admin page."""
    return reverse(f"admin:registry_{name}", args=arguments)


def version_page(version: AdapterVersion, name: str = "change") -> str:
    """The address of one of a version's pages."""
    return page(f"adapterversion_{name}", version.pk)


def text_of(answer: Any) -> str:
    """A page's HTML."""
    return str(answer.content.decode("utf-8"))
