"""No page of the admin shows or changes another tenant's row: every model, every way in.

The models are discovered, not listed: a new one fails here until `tests/tenant_rows.py` knows it.
"""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from django.contrib import admin
from django.db.models import ForeignKey, Model
from django.test import Client
from django.urls import NoReverseMatch, reverse

from contextos.adminkit.tenancy import tenant_lookup_for
from contextos.identity.models import Tenant, User
from tests.factories import make_member, make_superuser, make_tenant
from tests.identity.signed_in import browser_of
from tests.recorded_worlds import ready
from tests.tenant_rows import MAKERS

OWN, FOREIGN = "ownmarker", "foreignmarker"
REFUSED = {302, 403, 404}


def models_of_tenants() -> list[type[Model]]:
    """Every model with a page that reaches a tenant, by its own column or as its page says."""
    found = [model for model in admin.site._registry if _has_tenant(model)]
    return sorted(found, key=lambda model: model._meta.label)


def _has_tenant(model: type[Model]) -> bool:
    names = {field.attname for field in model._meta.concrete_fields}
    return "tenant_id" in names or tenant_lookup_for(model, admin.site) is not None


MODELS = models_of_tenants()
KNOWN = [model for model in MODELS if model._meta.label in MAKERS]
every_model = pytest.mark.parametrize("model", KNOWN, ids=lambda model: model._meta.label)


def test_every_page_of_a_tenants_model_is_tried_below() -> None:
    assert {model._meta.label for model in MODELS} == set(MAKERS)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model._meta.label)
def test_every_page_of_a_tenants_model_is_scoped(model: type[Model]) -> None:
    assert isinstance(getattr(admin.site._registry[model], "tenant_lookup", None), str)


def _two_tenants() -> tuple[Tenant, Tenant, list[User]]:
    acme = make_tenant("acme_prod", name="Acme")
    globex = make_tenant("globex_prod", name="Globex")
    people = [make_member(acme, "platform_admin"), make_member(acme, "auditor"), make_superuser()]
    return acme, globex, people


@pytest.fixture
def two_tenants(db: None) -> tuple[Tenant, Tenant, list[User]]:
    """And those who see most: none of them may see more than their tenant."""
    return ready(_two_tenants)


@pytest.fixture
def acme(two_tenants: tuple[Tenant, Tenant, list[User]]) -> Tenant:
    return two_tenants[0]


@pytest.fixture
def globex(two_tenants: tuple[Tenant, Tenant, list[User]]) -> Tenant:
    return two_tenants[1]


@pytest.fixture
def browsers(two_tenants: tuple[Tenant, Tenant, list[User]]) -> list[Client]:
    return [browser_of(person, two_tenants[0]) for person in two_tenants[2]]


@pytest.fixture
def foreign(model: type[Model], globex: Tenant) -> Model:
    return MAKERS[model._meta.label](globex, FOREIGN)


def url(model: type[Model], page: str, *arguments: Any) -> str:
    opts = model._meta
    return reverse(f"admin:{opts.app_label}_{opts.model_name}_{page}", args=arguments)


@pytest.mark.live
@pytest.mark.proves("E2")
@every_model
def test_lists_and_search_show_no_foreign_row(
    browsers: list[Client], model: type[Model], acme: Tenant, foreign: Model
) -> None:
    own = MAKERS[model._meta.label](acme, OWN)
    for browser in browsers:
        _check_lists(browser, model, own, foreign)


def _check_lists(browser: Client, model: type[Model], own: Model, foreign: Model) -> None:
    for query in ({}, {"q": FOREIGN}, {"q": str(foreign.pk)}, {"all": ""}):
        answer = browser.get(url(model, "changelist"), query)
        assert answer.status_code == 200
        shown = {row.pk for row in answer.context["cl"].result_list}
        assert foreign.pk not in shown
        assert FOREIGN not in answer.text or query == {"q": FOREIGN}  # pages repeat the question
        assert own.pk in shown or query not in ({}, {"all": ""})


@every_model
def test_a_foreign_row_has_no_page_and_takes_no_post(
    browsers: list[Client], model: type[Model], foreign: Model
) -> None:
    before = _values(foreign)
    for browser in browsers:
        _check_pages(browser, model, foreign)
    assert _values(foreign) == before


def _check_pages(browser: Client, model: type[Model], foreign: Model) -> None:
    for page in ("change", "history", "delete"):
        answer = browser.get(url(model, page, foreign.pk))
        assert answer.status_code in REFUSED
        assert FOREIGN not in answer.text
    for page in ("change", "delete"):
        answer = browser.post(url(model, page, foreign.pk), {"name": "taken over", "post": "yes"})
        assert answer.status_code in REFUSED


def _values(row: Model) -> dict[str, Any]:
    return type(row)._default_manager.filter(pk=row.pk).values().get()


@every_model
def test_buttons_do_not_reach_a_foreign_row(
    browsers: list[Client], model: type[Model], foreign: Model
) -> None:
    before = _values(foreign)
    names = getattr(admin.site._registry[model], "actions_detail", ())
    for name, browser in itertools.product(names, browsers):
        for attempt in (browser.get, browser.post):
            answer = attempt(url(model, name, foreign.pk), {"reason": "x", "password": "y" * 20})
            assert answer.status_code in REFUSED
    assert _values(foreign) == before


def _foreign_keys() -> list[tuple[type[Model], ForeignKey[Any, Any]]]:
    return [
        (model, field)
        for model in admin.site._registry
        for field in model._meta.concrete_fields
        if isinstance(field, ForeignKey) and field.related_model in KNOWN
    ]


@pytest.mark.live
@pytest.mark.parametrize(
    ("model", "field"),
    _foreign_keys(),
    ids=lambda v: getattr(v, "name", v.__name__ if isinstance(v, type) else ""),
)
def test_autocompletion_offers_no_foreign_row(
    browsers: list[Client], model: type[Model], field: ForeignKey[Any, Any], globex: Tenant
) -> None:
    target: Any = field.related_model
    row = MAKERS[target._meta.label](globex, FOREIGN)
    try:
        address = reverse("admin:autocomplete")
    except NoReverseMatch:
        pytest.skip("the site has no autocompletion")
    for browser, term in itertools.product(browsers, ("", FOREIGN)):
        answer = browser.get(
            address,
            {
                "app_label": model._meta.app_label,
                "model_name": model._meta.model_name or "",
                "field_name": field.name,
                "term": term,
            },
        )
        if answer.status_code == 200:
            assert str(row.pk) not in {entry["id"] for entry in answer.json()["results"]}
        assert FOREIGN not in answer.text


@pytest.mark.live
@every_model
def test_forms_offer_no_foreign_row(
    browsers: list[Client], model: type[Model], acme: Tenant, globex: Tenant
) -> None:
    for label in ("identity.User", "identity.Agent"):
        MAKERS[label](globex, FOREIGN if label == "identity.User" else f"{FOREIGN}_x")
    own = MAKERS[model._meta.label](acme, OWN)
    pages = [url(model, "change", own.pk), url(model, "add")]
    for browser, page in itertools.product(browsers, pages):
        assert FOREIGN not in browser.get(page).text


def test_a_crafted_post_can_not_name_a_foreign_person(acme: Tenant, globex: Tenant) -> None:
    boss = browser_of(make_member(acme, "platform_admin"), acme)
    stranger = make_member(globex, "operator")
    answer = boss.post(
        reverse("admin:identity_membership_add"),
        {"user": stranger.pk, "role": "1", "valid_from_0": "", "valid_until_0": ""},
    )
    assert answer.status_code == 200
    assert "user" in answer.context["adminform"].form.errors
    assert stranger.memberships.filter(tenant=acme).count() == 0


def test_a_superuser_sees_the_tenant_they_switch_to_and_no_other(
    acme: Tenant, globex: Tenant
) -> None:
    browser = browser_of(make_superuser(), acme)
    for tenant, other in ((acme, globex), (globex, acme), (acme, globex)):
        browser.post(reverse("admin:change_tenant"), {"tenant_id": tenant.pk})
        shown = browser.get(reverse("admin:identity_tenant_changelist")).context["cl"].result_list
        assert [row.pk for row in shown] == [tenant.pk]
        assert other.pk not in [row.pk for row in shown]
