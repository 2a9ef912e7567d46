"""Messages to addresses that people entered: one JSON body, signed, sent once, never redirected.

Signed as Standard Webhooks describes it, so that receivers find a library in their language.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from contextos.core.errors import coded_error
from contextos.net.addresses import literal_address
from contextos.net.client import Timeouts, open_client
from contextos.net.failures import failure
from contextos.net.messages import build_request
from contextos.net.rules import EgressPolicy, EgressRule
from contextos.net.targets import Target, parse_target

SHORTEST_SECRET = 32
_PREFIX = "whsec_"
_TIMEOUTS = Timeouts(connect=3.0, read=4.0, write=3.0, pool=1.0)
_DEADLINE = 5.0
_MOST_ANSWER = 64 * 1024


@dataclass(frozen=True, slots=True)
class Message:
    """One message to one address; the id stays the same however often it is sent."""

    url: str = field(repr=False)
    body: Mapping[str, Any] = field(repr=False)
    message_id: str
    secret: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class RawMessage:
    """The same with content that is not one JSON document, and what the receiver wants to see."""

    url: str = field(repr=False)
    content: bytes = field(repr=False)
    content_type: str
    message_id: str
    secret: str | None = field(default=None, repr=False)
    authorization: str | None = field(default=None, repr=False)
    deadline: float = _DEADLINE


def send_message(message: Message, *, environment: str, proxy: str | None, now: datetime) -> None:
    """Send it; anything but a 2xx answer within five seconds is a coded error."""
    content = build_request(
        "POST", message.url, headers=None, content=None, json=message.body
    ).content
    raw = RawMessage(
        message.url, content or b"", "application/json", message.message_id, message.secret
    )
    send_raw(raw, environment=environment, proxy=proxy, now=now)


def send_raw(message: RawMessage, *, environment: str, proxy: str | None, now: datetime) -> None:
    """Send it; anything but a 2xx answer in time is a coded error."""
    target = parse_target(message.url)
    client = open_client(
        rule_for(target, environment),
        timeouts=_TIMEOUTS,
        max_bytes=_MOST_ANSWER,
        deadline=message.deadline,
        proxy=proxy,
    )
    headers = {"Content-Type": message.content_type, "User-Agent": "ContextOS"}
    headers |= signature(message, message.content, now) if message.secret else {}
    headers |= {"Authorization": message.authorization} if message.authorization else {}
    answer = client.request("POST", message.url, headers=headers, content=message.content)
    if not 200 <= answer.status <= 299:
        said = f"{target.host} answered {answer.status}."
        raise coded_error("delivery.refused", message=said, data={"status": answer.status})


def signature(message: Message | RawMessage, content: bytes, now: datetime) -> dict[str, str]:
    """The three headers a receiver checks before it believes anything."""
    seconds = str(int(now.timestamp()))
    signed = b".".join([message.message_id.encode(), seconds.encode(), content])
    mac = hmac.new(key_of(message.secret or ""), signed, hashlib.sha256).digest()
    return {
        "webhook-id": message.message_id,
        "webhook-timestamp": seconds,
        "webhook-signature": f"v1,{base64.b64encode(mac).decode()}",
    }


def key_of(secret: str) -> bytes:
    """The bytes a secret stands for: base64 after `whsec_`, otherwise its own letters."""
    if secret.startswith(_PREFIX):
        try:
            key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
        except (binascii.Error, ValueError):
            raise coded_error("delivery.secret_weak") from None
        short = len(key) < SHORTEST_SECRET * 3 // 4
    else:
        key, short = secret.encode(), len(secret) < SHORTEST_SECRET
    if short or len(set(secret)) < 10:
        raise coded_error("delivery.secret_weak")
    return key


def fingerprint(secret: str) -> str:
    """Tells two secrets apart without showing either."""
    return hashlib.sha256(b"fingerprint:" + secret.encode()).hexdigest()[:12]


def message_id(mark: str) -> str:
    """One id per message, from what makes the message one."""
    return f"msg_{hashlib.sha256(mark.encode()).hexdigest()[:32]}"


def check_address(url: str, *, environment: str) -> Target:
    """Refuse on entry what could never be sent to; names are judged again after each lookup."""
    if len(url) > 500:
        raise failure("egress.url_invalid", "The address is longer than 500 characters.")
    target = parse_target(url)
    policy = EgressPolicy(rule_for(target, environment))
    policy.admit_target(target)
    literal = literal_address(target.host)
    if literal is not None:
        policy.admit_addresses(target.host, [literal])
    return target


def rule_for(target: Target, environment: str) -> EgressRule:
    """This host and no other; https and public addresses only, except where a developer sits."""
    return EgressRule.for_environment(environment, [target.authority])
