"""Look of the admin: names, logo, colours, and where unfold finds menu, labels and front page."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse_lazy

# Chosen for contrast: 600 on white 6.0:1, 500 and 400 on the dark ground 5.6:1 and more.
PRIMARY = {
    "50": "#f0f4ff",
    "100": "#dfe8ff",
    "200": "#c5d4fe",
    "300": "#a0b6fc",
    "400": "#91a9fb",
    "500": "#7b95f7",
    "600": "#3d55cf",
    "700": "#3346ac",
    "800": "#2d3c8b",
    "900": "#28366f",
    "950": "#1a2146",
}
BASE = {
    "50": "#f8fafc",
    "100": "#f1f4f8",
    "200": "#e1e7ef",
    "300": "#cbd4e1",
    "400": "#9aa7ba",
    "500": "#5d6b80",
    "600": "#465266",
    "700": "#344054",
    "800": "#1f2838",
    "900": "#131a27",
    "950": "#0b101a",
}

ENVIRONMENT_TONES = {
    "production": "danger",
    "staging": "warning",
    "development": "info",
    "workstation": "info",
}


def environment_label(request: HttpRequest) -> list[str]:
    """Where this process runs, always visible, so that nobody mistakes production for a trial."""
    name: str = settings.CONTEXTOS_ENV
    return [name, ENVIRONMENT_TONES.get(name, "danger")]


def _asset(path: str) -> Any:
    return lambda request: static(path)


UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "ContextOS",
    "SITE_HEADER": "ContextOS",
    "SITE_SUBHEADER": "Governed action plane",
    "SITE_URL": None,
    "SITE_ICON": {
        "light": _asset("contextos/mark.svg"),
        "dark": _asset("contextos/mark.svg"),
    },
    "SITE_FAVICONS": [
        {"rel": "icon", "type": "image/svg+xml", "href": _asset("contextos/mark.svg")},
    ],
    "SHOW_HISTORY": False,
    "SHOW_VIEW_ON_SITE": False,
    "SHOW_BACK_BUTTON": False,
    "ENVIRONMENT": "contextos.adminkit.theme.environment_label",
    "STYLES": [_asset("contextos/admin.css")],
    "SCRIPTS": [_asset("contextos/admin.js")],
    "BORDER_RADIUS": "6px",
    "COLORS": {
        "base": BASE,
        "primary": PRIMARY,
        "font": {
            "subtle-light": "var(--color-base-500)",
            "subtle-dark": "var(--color-base-400)",
            "default-light": "var(--color-base-600)",
            "default-dark": "var(--color-base-300)",
            "important-light": "var(--color-base-900)",
            "important-dark": "var(--color-base-100)",
        },
    },
    "ACCOUNT": {
        "navigation": [
            {"title": "My account", "link": reverse_lazy("admin:account")},
            {"title": "Change password", "link": reverse_lazy("admin:password_change")},
        ]
    },
    "SIDEBAR": {
        "show_search": True,
        "command_search": False,
        "show_all_applications": False,
        "navigation": "contextos.adminkit.navigation.sidebar",
    },
}
