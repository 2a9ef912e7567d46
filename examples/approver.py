"""A person at the gate, for the examples: reads a request, votes with a code of their app."""

from __future__ import annotations

import base64
import hashlib
import hmac
import struct
import time
from dataclasses import dataclass
from typing import Any

from person import Person
from ready import Demo


@dataclass(frozen=True)
class Approver(Person):
    """fin1 or fin2 of the demo, by their own token."""

    otp_secret: str

    @classmethod
    def of(cls, here: Demo, name: str) -> Approver:
        """As the ready-file describes them."""
        secret = here.ready["users"][name]["otp_secret"]
        return cls(here.ready["url"], here.ready["approver_tokens"][name], secret)

    def read(self, approval_id: str) -> dict[str, Any]:
        """The request as this person sees it."""
        return self.send("GET", f"approvals/{approval_id}")

    def approve(self, approval_id: str, reason: str) -> dict[str, Any]:
        """Yes, to exactly what was shown, with a fresh code."""
        body = {"reason": reason, "digest": self.digest(approval_id), "otp": self.code()}
        return self.send("POST", f"approvals/{approval_id}/approve", body)

    def reject(self, approval_id: str, reason: str) -> dict[str, Any]:
        """No, and why."""
        body = {"reason": reason, "digest": self.digest(approval_id)}
        return self.send("POST", f"approvals/{approval_id}/reject", body)

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
