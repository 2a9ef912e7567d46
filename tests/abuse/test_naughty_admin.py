"""Naughty texts in every text of every admin form: saved as sent, or the form says why not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from django import forms
from django.contrib import admin
from django.db import models, transaction
from django.test import Client
from django.urls import reverse

from audit.models import AuditEvent
from contextos.core import strict_json
from contextos.identity.models import Tenant
from tests.abuse.naughty import EVERYTHING, UNSTORABLE, texts_for
from tests.factories import make_member, make_tenant
from tests.identity.signed_in import browser_of
from tests.tenant_rows import MAKERS

MARKER = "ownmarker"
MARKUP = [text for text in EVERYTHING if text.startswith(("<script>", "</textarea>", '">'))]


@pytest.fixture
def tenant(db: None) -> Tenant:
    return make_tenant("acme_prod", name="Acme")


@pytest.fixture
def browser(tenant: Tenant) -> Client:
    browser = browser_of(make_member(tenant, "platform_admin"), tenant)
    browser.raise_request_exception = False
    return browser


def _models() -> list[type[models.Model]]:
    return sorted(admin.site._registry, key=lambda model: model._meta.label)


def _pages(model: type[models.Model], tenant: Tenant) -> Iterator[tuple[str, str]]:
    """Every page that may have a form: adding, changing, and the buttons of a row."""
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
    yield f"{name}_add", reverse(f"{name}_add")
    maker = MAKERS.get(model._meta.label)
    if maker is not None:
        row = maker(tenant, MARKER)
        for view in ("change", *getattr(admin.site._registry[model], "actions_detail", ())):
            yield f"{name}_{view}", reverse(f"{name}_{view}", args=[row.pk])


def _form(answer: Any) -> forms.BaseForm | None:
    """The form of a page, wherever its template finds it."""
    context = answer.context or {}
    for name in ("adminform", "form"):
        found = context.get(name) if hasattr(context, "get") else None
        found = getattr(found, "form", found)
        if isinstance(found, forms.BaseForm):
            return found
    return None


def _texts(form: forms.BaseForm) -> list[str]:
    """The names of its text fields."""
    return [
        form.add_prefix(name)
        for name, field in form.fields.items()
        if isinstance(field, forms.CharField) and not field.disabled
    ]


def _filled(form: forms.BaseForm, text: str, names: list[str]) -> dict[str, Any]:
    """What a browser would send, with the text in these fields."""
    data: dict[str, Any] = {}
    for name, field in form.fields.items():
        value = form[name].value()
        if isinstance(field, forms.ModelChoiceField):
            rows: Any = field.queryset
            first = rows.first()
            data[form.add_prefix(name)] = first.pk if first is not None else ""
        elif isinstance(field, forms.ChoiceField):
            choices: Any = field.choices
            chosen = next((str(key) for key, _ in choices if key), "")
            data[form.add_prefix(name)] = value if isinstance(value, str) and value else chosen
        elif value not in (None, ""):
            data[form.add_prefix(name)] = value
    return data | dict.fromkeys(names, text)


def _fault(answer: Any, text: str) -> str:
    if answer.status_code >= 500:
        return f"status {answer.status_code}"
    if answer.status_code == 302 and text in UNSTORABLE:
        return "took what can't be stored"
    if text in MARKUP and text in answer.content.decode():
        return "came back as markup"
    return ""


def _columns(model: type[models.Model], texts: list[str]) -> list[str]:
    """Those of the texts that stand in a column of the same name; a password is kept hashed."""
    known = {
        field.name
        for field in model._meta.concrete_fields
        if isinstance(field, models.CharField | models.TextField) and field.name != "password"
    }
    return [name for name in texts if name in known]


def _changed(model: type[models.Model], texts: list[str], text: str) -> str:
    """What was taken stands in a row exactly as sent, but for blanks and line ends."""
    names = _columns(model, texts)
    if not names:
        return ""
    rows, sent = model._default_manager.values_list(*names), _plain(text)
    if any(all(_plain(value) == sent for value in row) for row in rows):
        return ""
    said = strict_json.loads_object(AuditEvent.objects.latest("event_id").text)["reason"]
    if names == ["reason"] and _plain(said) == sent:  # why a button was pressed
        return ""
    return f"not kept as sent in {names}"


def _plain(value: object) -> str:
    return str(value).replace("\r\n", "\n").strip()


def _tried(
    browser: Client, model: type[models.Model], address: str, number: int
) -> Iterator[tuple[str, Any, str]]:
    """Each text with the answer to it and what is wrong; whatever it changed is put back.

    It stands in all fields at once, and in one after the other with the rest as it was: a field
    that wants an address would else refuse the text for all the others.
    """
    form = _form(browser.get(address))
    names = [] if form is None else _texts(form)
    if form is None or not names:
        return
    for place, text in enumerate(texts_for(number)):
        for chosen in (names, [names[place % len(names)]]):
            with transaction.atomic():
                answer = browser.post(address, _filled(form, text, chosen))
                fault = _fault(answer, text)
                if not fault and answer.status_code == 302:
                    fault = _changed(model, chosen, text)
                transaction.set_rollback(True)
            yield text, answer, fault


@pytest.mark.scale
@pytest.mark.django_db
def test_every_text_of_every_form_is_taken_or_refused_with_a_word(
    tenant: Tenant, browser: Client
) -> None:
    wrong, statuses, pages = [], Counter[int](), 0
    for model in _models():
        with transaction.atomic():  # rows of one kind may stand in the way of another's
            for name, address in _pages(model, tenant):
                pages += 1
                for text, answer, fault in _tried(browser, model, address, pages):
                    statuses[answer.status_code] += 1
                    if fault:
                        wrong.append(f"{name} {text[:30]!r}: {fault}")
            transaction.set_rollback(True)
    assert not wrong, "\n".join(wrong)
    assert statuses[302] > 50
    assert statuses.total() > 500, statuses


@pytest.mark.scale
def test_every_search_takes_every_text(browser: Client, tenant: Tenant) -> None:
    wrong = []
    for number, model in enumerate(_models()):
        address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        for text in texts_for(number):
            for query in ({"q": text}, {text[:50] or "x": "1"}):
                status = browser.get(address, query).status_code
                if status >= 500:
                    wrong.append(f"{address} {query}: {status}")
    assert not wrong, "\n".join(wrong)


def test_a_search_of_thousands_of_words_finds_nothing(browser: Client) -> None:
    page = browser.get(reverse("admin:identity_user_changelist"), {"q": "a b " * 3_000})
    assert page.status_code == 200
    assert page.context["cl"].result_count == 0
