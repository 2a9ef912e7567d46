"""The pages of credentials and consents: what they show, what they refuse, what they record."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from audit.models import AuditEvent
from gateway.consents.trips import redirect_uri
from gateway.credentials.keeping import open_secret
from gateway.models import AdapterCredential, Consent
from tests.gateway.credentials.oauth_server import AuthorizationServer
from tests.gateway.credentials.rows import ADAPTER, make_credential, oauth
from tests.gateway.credentials.test_consents import page_of, travel
from tests.gateway.credentials.world import LedgerWorld
from tests.identity.signed_in import browser_of
from tests.registry.house import House
from tests.registry.manifests import orders

pytestmark = [pytest.mark.django_db, pytest.mark.proves("C7")]
LIST = "/admin/gateway/adaptercredential/"
CANARY = "canary-9b1f77c2"


@pytest.fixture
def house() -> House:
    built = House()
    built.published(orders())
    return built


def browser(house: House, role: str = "admin") -> Client:
    return browser_of(house.user(role), house.tenant)


def entered(**changes: Any) -> dict[str, Any]:
    return {
        "name": "Orders",
        "environment": "development",
        "adapter_id": "adp_orders",
        "capability_id": "orders.lookup",
        "header_name": "X-Orders-Key",
        "secret": CANARY,
        **changes,
    }


def test_a_credential_is_added_shown_by_fingerprint_rotated_and_revoked(house: House) -> None:
    admin = browser(house)
    assert "API key in a header" in admin.get(f"{LIST}add/").content.decode()
    done = admin.post(f"{LIST}add/?kind=api_key", entered())
    assert done.status_code == 302, done.context["adminform"].form.errors
    row = AdapterCredential.objects.get()
    assert (row.capability_id, open_secret(row)) == ("orders.lookup", CANARY)
    page = f"{LIST}{row.pk}/change/"
    for shown in (admin.get(page), admin.get(LIST), admin.get(f"{page[:-7]}rotate/")):
        assert CANARY not in shown.content.decode()
    assert row.fingerprint in admin.get(page).content.decode()
    rotated = admin.post(
        f"{LIST}{row.pk}/rotate/",
        {"secret": CANARY + "2", "overlap": "24", "reason": "quarterly"},
    )
    assert rotated.status_code == 302, rotated.content
    row.refresh_from_db()
    assert (row.version, open_secret(row)) == (2, CANARY + "2")
    assert row.previous_until is not None
    admin.post(f"{LIST}{row.pk}/end_overlap/", {})
    admin.post(f"{LIST}{row.pk}/revoke/", {"reason": "leaked"})
    row.refresh_from_db()
    assert row.sealed_secret is None
    assert row.sealed_previous is None
    told = AuditEvent.objects.filter(action__startswith="credential.").order_by("pk")
    assert {event.action for event in told} == {
        "credential.added",
        "credential.rotated",
        "credential.overlap_ended",
        "credential.revoked",
    }
    assert not any(CANARY in event.text for event in told)


@pytest.mark.parametrize(
    ("kind", "changes", "words"),
    [
        ("api_key", {"header_name": "Host"}, "set by the network door"),
        ("api_key", {"secret": "two words"}, "headers can"),
        ("bearer", {"secret": ""}, "required"),
        ("mtls", {"secret": "no pem"}, "needs a PEM certificate"),
        (
            "client_credentials",
            {"token_endpoint": "https://id.example.com/t", "client_id": "c", "secret": ""},
            "This kind needs a secret",
        ),
        (
            "client_credentials",
            {"token_endpoint": "https://169.254.169.254/t", "client_id": "c"},
            "not a public address",
        ),
    ],
)
def test_what_could_not_be_sent_is_refused_and_the_secret_not_sent_back(
    house: House, kind: str, changes: dict[str, Any], words: str
) -> None:
    posted = entered(client_auth="client_secret_basic", issuer="", **changes)
    answer = browser(house).post(f"{LIST}add/?kind={kind}", posted)
    assert answer.status_code == 200
    assert words in answer.content.decode()
    assert CANARY not in answer.content.decode()
    assert not AdapterCredential.objects.exists()


def test_the_form_says_what_is_added_and_where_people_have_to_come_back_to(
    house: House, server: AuthorizationServer
) -> None:
    admin = browser(house)
    shown = admin.get(f"{LIST}add/?kind=authorization_code").content.decode()
    assert "Add a credential: OAuth 2 with the person" in shown
    row = make_credential(house.tenant, "authorization_code", **oauth(server))
    for page in (shown, admin.get(f"{LIST}{row.pk}/change/").content.decode()):
        assert redirect_uri() in page
    assert redirect_uri() not in admin.get(f"{LIST}add/?kind=bearer").content.decode()


def test_a_client_that_signs_is_added_without_a_secret(house: House) -> None:
    posted = entered(
        client_auth="private_key_jwt",
        issuer="",
        token_endpoint="https://id.example.com/t",
        client_id="c",
        secret="",
    )
    assert browser(house).post(f"{LIST}add/?kind=client_credentials", posted).status_code == 302
    assert AdapterCredential.objects.get().sealed_secret is None


def test_where_a_secret_goes_can_not_be_changed_without_entering_it(
    house: House, server: AuthorizationServer
) -> None:
    row = make_credential(house.tenant, "client_credentials", **oauth(server))
    browser(house).post(
        f"{LIST}{row.pk}/change/",
        {"name": "Renamed", "token_endpoint": "https://evil.example.com/t", "issuer": ""},
    )
    row.refresh_from_db()
    assert row.name == "Renamed"
    assert row.token_endpoint == f"{server.address}/token"


def test_a_header_that_can_not_be_sent_is_refused_later_too(house: House) -> None:
    row = make_credential(house.tenant, "api_key", header_name="X-Ledger-Key")
    changed = {"name": "Ledger", "header_name": "Host"}
    answer = browser(house).post(f"{LIST}{row.pk}/change/", changed)
    assert "set by the network door" in answer.content.decode()
    row.refresh_from_db()
    assert row.header_name == "X-Ledger-Key"


def test_a_second_credential_for_the_same_place_is_refused(house: House) -> None:
    admin = browser(house)
    admin.post(f"{LIST}add/?kind=api_key", entered())
    again = admin.post(f"{LIST}add/?kind=api_key", entered(name="Another"))
    assert "There is a credential for this place already" in again.content.decode()


@pytest.mark.parametrize(
    ("role", "adds", "rotates"), [("auditor", 403, 403), ("operator", 403, 200)]
)
def test_who_may_only_read_changes_nothing(
    house: House, role: str, adds: int, rotates: int
) -> None:
    row = make_credential(house.tenant)
    visitor = browser(house, role)
    assert visitor.get(LIST).status_code == 200
    assert visitor.get(f"{LIST}add/").status_code == adds
    assert visitor.get(f"{LIST}{row.pk}/rotate/").status_code == rotates


def test_authors_do_not_see_credentials(house: House) -> None:
    make_credential(house.tenant)
    assert browser(house, "author").get(LIST).status_code == 403


def test_a_person_sees_and_takes_back_their_own_consent_alone(
    world: LedgerWorld, server: AuthorizationServer
) -> None:
    server.redirect_uris = {redirect_uri()}
    make_credential(world.tenant, "authorization_code", **oauth(server))
    paused = world.call()
    travel(world.browser(), server, page_of(paused))
    consent = Consent.objects.get()
    author = world.browser(world.gateway.house.user("author"))
    page = f"/admin/gateway/consent/{consent.pk}/"
    assert ADAPTER not in author.get("/admin/gateway/consent/").content.decode()
    assert author.get(f"{page}revoke/").status_code in (302, 403, 404)
    auditor = world.browser(world.gateway.house.user("auditor"))
    assert ADAPTER in auditor.get("/admin/gateway/consent/").content.decode()
    assert auditor.get(f"{page}revoke/").status_code in (302, 403, 404)
    own = world.browser()
    assert own.post(f"{page}revoke/", {"reason": "changed my mind"}).status_code == 302
    consent.refresh_from_db()
    assert consent.revoked_at is not None
    assert AuditEvent.objects.filter(action="consent.revoked").count() == 1
