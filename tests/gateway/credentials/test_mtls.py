"""Client certificates on loopback: shown to a server that asks for one, and to no other way in."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from contextos.core.errors import ContextOSError
from contextos.net import EgressRule, open_client, parse_target
from gateway.connectors.base import Credential
from gateway.credentials.broker import credential_for
from gateway.credentials.tls import tls_context_of
from tests.factories import make_tenant
from tests.gateway.credentials.certificates import Authority
from tests.gateway.credentials.rows import make_ask, make_credential

pytestmark = [pytest.mark.django_db, pytest.mark.proves("C7")]


@contextmanager
def asking_for_certificates(authority: Authority, folder: Path) -> Iterator[str]:
    """A TLS server that talks to nobody without a certificate of its authority."""
    own = authority.certificate("server")
    place = folder / "server.pem"
    place.write_text(own.bundle)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(place)
    context.load_verify_locations(cadata=authority.pem)
    context.verify_mode = ssl.CERT_REQUIRED

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            subject = dict(pair[0] for pair in self.connection.getpeercert()["subject"])
            content = subject["commonName"].encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Quiet."""

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """Whoever shows no certificate breaks off."""

    listener = Quiet(("127.0.0.1", 0), Handler)
    listener.socket = context.wrap_socket(listener.socket, server_side=True)
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"https://127.0.0.1:{listener.server_port}/"
    finally:
        listener.shutdown()
        listener.server_close()
        thread.join()


def asked(url: str, credential: Credential | None) -> str:
    rule = EgressRule.for_environment("development", [parse_target(url).authority])
    client = open_client(rule, tls=tls_context_of(credential))
    return client.request("GET", url, deadline=3).content.decode()


def test_a_client_certificate_opens_the_door_that_stays_shut_without_it(tmp_path: Path) -> None:
    authority, tenant = Authority.new(), make_tenant()
    bundle = authority.certificate("contextos").bundle
    make_credential(tenant, "mtls", secret=bundle, authority=authority.pem)
    shown = credential_for(make_ask(tenant, auth_type="mtls"))
    with asking_for_certificates(authority, tmp_path) as url:
        assert asked(url, shown) == "contextos"
        bare = Credential(ref="none", authority=authority.pem)
        with pytest.raises(ContextOSError) as refused:
            asked(url, bare)
        assert refused.value.code.startswith("egress.")
        with pytest.raises(ContextOSError, match=r"egress\.tls"):
            asked(url, None)  # the public authorities do not vouch for it
    assert "PRIVATE KEY" not in repr(shown)


def test_one_certificate_has_one_context_however_many_calls() -> None:
    authority, tenant = Authority.new(), make_tenant()
    bundle = authority.certificate("contextos").bundle
    row = make_credential(tenant, "mtls", secret=bundle, authority=authority.pem)
    ask = make_ask(tenant, auth_type="mtls")
    contexts = {id(tls_context_of(credential_for(ask))) for _ in range(3)}
    assert len(contexts) == 1
    assert row.secret_ends_at is not None
    assert row.fingerprint.startswith("sha256 ")


@pytest.mark.parametrize("order", ["key first", "certificate first"])
def test_a_bundle_is_read_in_any_order_and_a_foreign_key_refused(order: str) -> None:
    authority = Authority.new()
    one, other = authority.certificate("one"), authority.certificate("other")
    parts = [one.certificate, one.key]
    bundle = "".join(reversed(parts) if order == "key first" else parts)
    make_credential(make_tenant(), "mtls", secret=bundle)
    with pytest.raises(ContextOSError, match=r"credential\.invalid"):
        make_credential(make_tenant(), "mtls", secret=one.certificate + other.key)
