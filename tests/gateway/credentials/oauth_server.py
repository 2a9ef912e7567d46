"""A small authorization server on loopback: strict where ours must be right, broken on demand."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote_plus, urlencode, urlsplit

from contextos.core import base64url
from contextos.core.signing import KeyPurpose
from contextos.core.tokens import key_set, peek_token, verify_token
from contextos.identity.keyring import key_store

CLIENT_ID = "contextos client"  # a space, so that form encoding before Basic is proved
Form = dict[str, str]


class OAuthError(Exception):
    """An error answer of the protocol."""

    def __init__(self, word: str, status: int = 400) -> None:
        super().__init__(word)
        self.word, self.status = word, status


@dataclass
class AuthorizationServer:
    """What it knows, what it was asked, and how the next answer is to go wrong."""

    secrets: set[str] = field(default_factory=lambda: {"s3cret"})
    scopes: set[str] = field(default_factory=lambda: {"read", "write", "openid"})
    lifetime: int | None = 300
    answers: dict[str, Any] = field(default_factory=dict)  # members put over a good answer
    raw: tuple[int, bytes] | None = None
    location: str = ""  # where the token endpoint sends us on to
    asked: list[Form] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    codes: dict[str, Form] = field(default_factory=dict)
    refresh_tokens: dict[str, str] = field(default_factory=dict)  # token: scopes
    tokens: dict[str, Form] = field(default_factory=dict)
    revoked: list[str] = field(default_factory=list)
    redirect_uris: set[str] = field(default_factory=set)
    declines: bool = False
    sends_issuer: str | None = ""
    address: str = ""
    slow: float = 0.0

    @property
    def issuer(self) -> str:
        return self.address

    # --- the browser's side ----------------------------------------------------------------------
    def authorize(self, query: Form) -> str:
        """The address that the browser is sent back to."""
        if query["redirect_uri"] not in self.redirect_uris:
            raise OAuthError("invalid_request")
        if query["client_id"] != CLIENT_ID or query["code_challenge_method"] != "S256":
            raise OAuthError("invalid_request")
        answer = {"state": query["state"]}
        issuer = self.issuer if self.sends_issuer == "" else self.sends_issuer
        if issuer is not None:
            answer["iss"] = issuer
        if self.declines:
            return f"{query['redirect_uri']}?{urlencode({**answer, 'error': 'access_denied'})}"
        code = secrets.token_urlsafe(16)
        self.codes[code] = query
        return f"{query['redirect_uri']}?{urlencode({**answer, 'code': code})}"

    # --- the token endpoint ----------------------------------------------------------------------
    def token(self, form: Form, headers: dict[str, str]) -> dict[str, Any]:
        self.asked.append(form)
        self.headers.append(headers)
        self._check_client(form, headers)
        grants = {
            "client_credentials": self._client_credentials,
            "urn:ietf:params:oauth:grant-type:token-exchange": self._exchange,
            "authorization_code": self._code,
            "refresh_token": self._refresh,
        }
        grant = grants.get(form.get("grant_type", ""))
        if grant is None:
            raise OAuthError("unsupported_grant_type")
        return {**grant(form), **self.answers}

    def _check_client(self, form: Form, headers: dict[str, str]) -> None:
        if "client_assertion" in form:
            claims = self._verified(form["client_assertion"])
            if claims["sub"] != CLIENT_ID:
                raise OAuthError("invalid_client", 401)
            return
        basic = headers.get("authorization", "")
        name, secret = form.get("client_id"), form.get("client_secret")
        if basic.startswith("Basic "):
            pair = base64.b64decode(basic[6:]).decode().split(":", 1)
            name, secret = (unquote_plus(part) for part in pair)
        if name != CLIENT_ID or secret not in self.secrets:
            raise OAuthError("invalid_client", 401)

    def _verified(self, token: str) -> dict[str, Any]:
        keys = key_set(key_store().jwks(KeyPurpose.WORKLOAD))
        issuer = str(peek_token(token).issuer)
        return dict(verify_token(token, keys=keys, issuer=issuer, audience=self.issuer).claims)

    def _client_credentials(self, form: Form) -> dict[str, Any]:
        return self._issued(form, {"sub": CLIENT_ID})

    def _exchange(self, form: Form) -> dict[str, Any]:
        subject = self._verified(form["subject_token"])
        parties: dict[str, Any] = {"sub": subject["sub"]}
        if "actor_token" in form:
            actor = self._verified(form["actor_token"])
            if subject.get("act") != {"sub": actor["sub"]}:
                raise OAuthError("invalid_grant")
            parties["act"] = actor["sub"]
        return self._issued(form, parties)

    def _code(self, form: Form) -> dict[str, Any]:
        asked = self.codes.pop(form["code"], None)
        if asked is None or asked["redirect_uri"] != form["redirect_uri"]:
            raise OAuthError("invalid_grant")
        challenge = hashlib.sha256(form["code_verifier"].encode()).digest()
        if base64url.encode(challenge) != asked["code_challenge"]:
            raise OAuthError("invalid_grant")
        return self._with_refresh({**form, "scope": asked["scope"]}, asked["scope"])

    def _refresh(self, form: Form) -> dict[str, Any]:
        """Each refresh token is good once; the next one covers as much."""
        granted = self.refresh_tokens.pop(form["refresh_token"], None)
        if granted is None or form["refresh_token"] in self.revoked:
            raise OAuthError("invalid_grant")
        if not set(form.get("scope", granted).split()) <= set(granted.split()):
            raise OAuthError("invalid_scope")
        return self._with_refresh({"scope": granted, **form}, granted)

    def _with_refresh(self, form: Form, granted: str) -> dict[str, Any]:
        token = f"rt_{secrets.token_urlsafe(16)}"
        self.refresh_tokens[token] = granted
        return {**self._issued(form, {"sub": "person"}), "refresh_token": token}

    def _issued(self, form: Form, parties: dict[str, Any]) -> dict[str, Any]:
        scopes = form.get("scope", "")
        if not set(scopes.split()) <= self.scopes:
            raise OAuthError("invalid_scope")
        value = f"at_{secrets.token_urlsafe(16)}"
        self.tokens[value] = {"scope": scopes, "resource": form.get("resource", ""), **parties}
        answer: dict[str, Any] = {"access_token": value, "token_type": "Bearer", "scope": scopes}
        return answer | ({"expires_in": self.lifetime} if self.lifetime is not None else {})


@contextmanager
def serving(server: AuthorizationServer) -> Iterator[AuthorizationServer]:
    """On a free port of 127.0.0.1 until the block ends."""
    listener = ThreadingHTTPServer(("127.0.0.1", 0), _handler(server))
    listener.daemon_threads = True
    server.address = f"http://127.0.0.1:{listener.server_port}"
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        listener.shutdown()
        listener.server_close()
        thread.join()


def _handler(server: AuthorizationServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            form = {name: values[0] for name, values in parse_qs(body).items()}
            time.sleep(server.slow)
            if self.path == "/revoke":
                server.revoked.append(form["token"])
                self._send(200, b"{}")
            elif server.raw is not None:
                server.asked.append(form)
                self._send(*server.raw)
            else:
                self._token(form)

        def _token(self, form: Form) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            try:
                answer = server.token(form, headers)
            except OAuthError as fault:
                self._send(fault.status, json.dumps({"error": fault.word}).encode())
                return
            self._send(200, json.dumps(answer).encode())

        def do_GET(self) -> None:
            query = parse_qs(urlsplit(self.path).query)
            where = server.authorize({name: values[0] for name, values in query.items()})
            self.send_response(302)
            self.send_header("Location", where)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def _send(self, status: int, content: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            if server.location:
                self.send_header("Location", server.location)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Quiet."""

    return Handler
