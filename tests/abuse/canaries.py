"""Forty secrets planted wherever the product takes one, each to be told from anything else."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote

from django.conf import settings

from approvals.webhooks import create_webhook
from contextos.core.ids import new_id
from contextos.core.signing import KeyPurpose
from contextos.identity.keyring import key_store
from contextos.identity.second_factor import begin_enrolment
from gateway.consents.services import grant_consent
from gateway.credentials.endpoint import Granted
from gateway.credentials.services import rotate_credential
from gateway.models import AdapterCredential, ConsentRequest
from tests.factories import SYSTEM, make_agent, make_agent_token, make_user, make_user_token
from tests.gateway.admin.alert_rows import make_receiver
from tests.gateway.credentials.certificates import Authority
from tests.gateway.credentials.rows import make_credential
from tests.gateway.siem.rows import make_stream
from tests.gateway.world import GatewayWorld

_OAUTH = {
    "issuer": "http://127.0.0.1:9",
    "token_endpoint": "http://127.0.0.1:9/token",
    "authorization_endpoint": "http://127.0.0.1:9/authorize",
    "client_id": "contextos",
}
_KINDS: dict[str, dict[str, str]] = {
    "api_key": {"header_name": "X-Ledger-Key"},
    "bearer": {},
    "client_credentials": _OAUTH,
    "token_exchange": _OAUTH,
    "authorization_code": _OAUTH,
}
ENVIRONMENT = (
    "CONTEXTOS_METRICS_TOKEN",
    "CONTEXTOS_CHECKPOINT_WEBHOOK_SECRET",
    "CONTEXTOS_CHECKPOINT_PUT_TOKEN",
)


@dataclass(slots=True)
class Canaries:
    """What was planted, by what it is."""

    planted: dict[str, str] = field(default_factory=dict)

    def new(self, name: str) -> str:
        """A secret nobody else has."""
        return self.keep(name, f"canary-{secrets.token_hex(20)}")

    def keep(self, name: str, secret: str) -> str:
        """A secret that the product made itself."""
        assert name not in self.planted
        self.planted[name] = secret
        return secret

    def hits(self, place: str, content: bytes) -> list[str]:
        """Which of them stand there, in whatever spelling."""
        return [
            f"{name} in {place} ({spelling})"
            for name, secret in self.planted.items()
            for spelling, needle in spellings(secret)
            if needle in content
        ]


def spellings(secret: str) -> Iterator[tuple[str, bytes]]:
    """Raw, and as somebody could have encoded it on the way."""
    raw = secret.encode()
    yield "raw", raw
    yield "base64", base64.b64encode(raw).rstrip(b"=")[:-1]
    yield "base64url", base64.urlsafe_b64encode(raw).rstrip(b"=")[:-1]
    for shift in (1, 2):  # inside a longer text that was encoded as a whole
        inner = base64.b64encode(b"\x00" * shift + raw)[4:]
        yield f"base64 shifted by {shift}", inner.rstrip(b"=")[:-4]
    yield "hex", raw.hex().encode()
    if quote(secret, safe="") != secret:
        yield "url", quote(secret, safe="").encode()


def plant(canaries: Canaries, world: GatewayWorld) -> None:
    """Everything that a row or a file keeps."""
    _plant_credentials(canaries, world)
    _plant_receivers(canaries, world)
    _plant_people(canaries, world)
    _plant_tokens(canaries, world)
    for purpose in KeyPurpose:
        canaries.keep(f"key file {purpose.value}", _private_part(purpose))
    canaries.keep("secret key", settings.SECRET_KEY)
    canaries.keep("field key", settings.FIELD_KEYS[0])
    for name in ENVIRONMENT:
        canaries.new(name)


def _plant_credentials(canaries: Canaries, world: GatewayWorld) -> None:
    for kind, more in _KINDS.items():
        secret = canaries.new(f"credential {kind}")
        make_credential(world.house.tenant, kind, secret=secret, adapter_id=f"adp_{kind}", **more)
    _plant_an_overlap(canaries, world)
    _plant_a_consent(canaries)
    pem = Authority.new().certificate("contextos").bundle
    make_credential(world.house.tenant, "mtls", secret=pem, adapter_id="adp_mtls")
    canaries.keep("credential mtls", pem.split("PRIVATE KEY-----")[1].splitlines()[1])


def _plant_an_overlap(canaries: Canaries, world: GatewayWorld) -> None:
    """A secret that counts for one more hour beside the one that took its place."""
    before, now = canaries.new("credential before"), canaries.new("credential now")
    row = make_credential(world.house.tenant, "bearer", secret=before, adapter_id="adp_rotated")
    rotate_credential(credential_id=row.pk, secret=now, actor=SYSTEM, overlap=timedelta(hours=1))


def _plant_a_consent(canaries: Canaries) -> None:
    """What a person let an authorization server hand out."""
    row = AdapterCredential.objects.get(kind="authorization_code")
    asked = ConsentRequest(
        request_id=new_id("csr"), tenant=row.tenant, credential=row, user_id="user_ada"
    )
    granted = Granted(
        access_token=canaries.new("consented access token"),
        refresh_token=canaries.new("consented refresh token"),
        scopes=("read",),
        lifetime=300,
        asked_at=0,
    )
    grant_consent(request=asked, granted=granted, actor=SYSTEM)


def _plant_receivers(canaries: Canaries, world: GatewayWorld) -> None:
    tenant = world.house.tenant
    for number in (1, 2):
        create_webhook(
            tenant_id=tenant.pk,
            name=f"Hook {number}",
            kind="signed",
            url="https://hooks.example.com/in",
            secret=canaries.new(f"webhook {number}"),
            actor=SYSTEM,
        )
    hook = {"channel": "webhook", "address": "https://hooks.example.com/in"}
    make_receiver(tenant, "Alerts", secret=canaries.new("alert receiver"), **hook)
    make_stream(tenant, "Signed", secret=canaries.new("SIEM secret"))
    make_stream(
        tenant, "Splunk", authorization=f"Splunk {canaries.new('SIEM token')}", format="jsonl"
    )
    make_agent(
        tenant,
        callback_url="https://agents.example.com/done",
        callback_secret=canaries.new("callback secret"),
    )


def _plant_people(canaries: Canaries, world: GatewayWorld) -> None:
    for number in (1, 2, 3):
        user = make_user(password=canaries.new(f"password {number}"))
        seed = begin_enrolment(user=user).base32_secret()
        canaries.keep(f"OTP seed {number}", seed)


def _plant_tokens(canaries: Canaries, world: GatewayWorld) -> None:
    canaries.keep("agent token", world.agent_token)
    for name in ("admin", "operator", "auditor", "service"):
        canaries.keep(f"token of {name}", world.house.token(name))
    narrowed = make_user_token(
        world.house.user("service"), world.house.tenant, scopes=["orders.lookup"]
    )
    canaries.keep("narrowed token", narrowed.token)
    canaries.keep("second agent's token", make_agent_token(make_agent(world.house.tenant)).token)


def _private_part(purpose: KeyPurpose) -> str:
    """The line of the key's file that is the key."""
    kid = key_store().ensure(purpose).verification_key.kid
    pem = (Path(settings.KEYS_DIR) / purpose.value / f"{kid}.key.pem").read_text()
    return next(line for line in pem.splitlines() if "-----" not in line)
