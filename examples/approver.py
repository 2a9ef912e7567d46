"""A person at the gate, for the examples: reads a request, votes with a code of their app."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import struct
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Approver:
    """fin1 or fin2 of the demo, by their own token."""

    url: str
    token: str
    otp_secret: str

    def read(self, approval_id: str) -> dict[str, Any]:
        """The request as this person sees it."""
        return self._send("GET", f"/api/v1/approvals/{approval_id}", None)

    def approve(self, approval_id: str, reason: str) -> dict[str, Any]:
        """Yes, to exactly what was shown, with a fresh code."""
        body = {"reason": reason, "digest": self.digest(approval_id), "otp": self.code()}
        return self._send("POST", f"/api/v1/approvals/{approval_id}/approve", body)

    def reject(self, approval_id: str, reason: str) -> dict[str, Any]:
        """No, and why."""
        body = {"reason": reason, "digest": self.digest(approval_id)}
        return self._send("POST", f"/api/v1/approvals/{approval_id}/reject", body)

    def digest(self, approval_id: str) -> str:
        """What the vote is bound to."""
        return str(self.read(approval_id)["subject"]["digest"])

    def code(self) -> str:
        """The six digits of RFC 6238, as an authenticator app shows them."""
        counter = struct.pack(">Q", int(time.time()) // 30)
        mac = hmac.new(base64.b32decode(self.otp_secret), counter, hashlib.sha1).digest()
        place = mac[-1] & 15
        number = struct.unpack(">I", mac[place : place + 4])[0] & 0x7FFFFFFF
        return f"{number % 1_000_000:06d}"

    def _send(self, method: str, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
        request = urllib.request.Request(  # noqa: S310  the demo's own address
            self.url + path,
            data=None if body is None else json.dumps(body).encode(),
            method=method,
            headers={
                "Authorization": f"Bearer {self.token}",
                "Content-Type": "application/json",
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
                return dict(json.load(answer))
        except urllib.error.HTTPError as refused:
            raise SystemExit(f"{method} {path}: {refused.code} {refused.read().decode()}") from None
