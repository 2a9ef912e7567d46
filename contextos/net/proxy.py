"""The egress proxy setting: how it is written, and the rule under which it alone is dialled."""

import re
from dataclasses import dataclass, field
from urllib.parse import unquote

import httpcore

from contextos.core.errors import ContextOSError
from contextos.net.failures import failure
from contextos.net.rules import EgressRule
from contextos.net.targets import split_host_port

_SETTING = re.compile(r"http://(?:([^@/:]*)(?::([^@/]*))?@)?([^@/?#]+)/?")


@dataclass(frozen=True, slots=True)
class EgressProxy:
    """An http:// proxy: https targets pass through it in a CONNECT tunnel, end to end encrypted.

    It usually stands on a private address, so dialling it is the one exception to the private
    rule. The target's addresses are still judged by our own resolver before the proxy is asked,
    but the proxy looks the name up again: behind a proxy, rebinding is the proxy's to prevent.
    """

    host: str
    port: int
    username: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)

    @property
    def rule(self) -> EgressRule:
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return EgressRule(hosts=(f"{shown}:{self.port}",), allow_private=True, https_required=False)

    def for_pool(self) -> httpcore.Proxy:
        url = httpcore.URL(scheme="http", host=self.host, port=self.port, target="/")
        if self.username is None:
            return httpcore.Proxy(url)
        return httpcore.Proxy(url, auth=(self.username, self.password or ""))


def parse_proxy(setting: str | None) -> EgressProxy | None:
    """Read CONTEXTOS_EGRESS_PROXY; empty means none. The value may hold a password: never shown."""
    if not setting or not setting.strip():
        return None
    match = _SETTING.fullmatch(setting.strip())
    if match is None:
        raise _invalid()
    username, password, authority = match.groups()
    try:
        host, port = split_host_port(authority)
    except ContextOSError:
        raise _invalid() from None
    return EgressProxy(host, port or 80, _decoded(username), _decoded(password))


def _decoded(text: str | None) -> str | None:
    return unquote(text) if text is not None else None


def _invalid() -> ContextOSError:
    return failure("egress.proxy_invalid", "The egress proxy must be written http://host:port.")
