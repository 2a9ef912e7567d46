"""What the MCP SDK's own authorization server asks of whoever runs one: clients, codes, tokens.

The protocol is the SDK's: client authentication, PKCE, redirect addresses, scopes, expiry.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field
from typing import Any

from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, RevocationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl

LIFETIME = 300


@dataclass
class Issuer:
    """One client, and whatever was issued to it."""

    client: OAuthClientInformationFull
    origin: str = ""
    codes: dict[str, AuthorizationCode] = field(default_factory=dict)
    access: dict[str, AccessToken] = field(default_factory=dict)
    refresh: dict[str, RefreshToken] = field(default_factory=dict)

    def guard(self, origin: str) -> dict[str, Any]:
        """For the SDK's server: tokens of this issuer that are for itself, and no other."""
        self.origin = origin
        settings = AuthSettings(
            issuer_url=AnyHttpUrl(origin),
            resource_server_url=AnyHttpUrl(f"{origin}/mcp"),
            validate_token_resource=True,
            required_scopes=["read"],
            revocation_options=RevocationOptions(enabled=True),
        )
        return {"auth_server_provider": self, "auth": settings}

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.client if client_id == self.client.client_id else None

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        raise NotImplementedError

    async def authorize(
        self, client: OAuthClientInformationFull, params: AuthorizationParams
    ) -> str:
        code = secrets.token_urlsafe(32)
        self.codes[code] = AuthorizationCode(
            code=code,
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
            subject="ada",
        )
        back = str(params.redirect_uri)
        return construct_redirect_uri(back, code=code, state=params.state, iss=self.origin)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self._issued(authorization_code.scopes, authorization_code)

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> RefreshToken | None:
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        del self.refresh[refresh_token.token]
        return self._issued(scopes, refresh_token)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.access.clear()
        self.refresh.clear()

    def _issued(self, scopes: list[str], of: AuthorizationCode | RefreshToken) -> OAuthToken:
        bound: dict[str, Any] = {
            "client_id": of.client_id,
            "resource": of.resource,
            "subject": of.subject,
        }
        access, refresh = (f"{kind}_{secrets.token_urlsafe(32)}" for kind in ("at", "rt"))
        ends_at = int(time.time()) + LIFETIME
        self.access[access] = AccessToken(token=access, scopes=scopes, expires_at=ends_at, **bound)
        self.refresh[refresh] = RefreshToken(token=refresh, scopes=of.scopes, **bound)
        return OAuthToken(
            access_token=access,
            expires_in=LIFETIME,
            scope=" ".join(scopes),
            refresh_token=refresh,
        )
