"""Checkpoints for others to keep: a signed webhook, and an object store that takes a PUT."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from urllib.parse import quote

from django.conf import settings

from audit.models import Checkpoint
from audit.outside.sending import Send, send_new, tenants_behind
from contextos.core.clock import format_time, utcnow
from contextos.core.errors import coded_error
from contextos.net import Timeouts, open_client, parse_target
from contextos.net.signed_posts import Message, message_id, rule_for, send_message

WEBHOOK, OBJECTS = "webhook", "objects"
_TIMEOUTS = Timeouts(connect=3.0, read=4.0, write=3.0, pool=1.0)
_DEADLINE = 5.0
_MOST_ANSWER = 64 * 1024
_ALREADY_THERE = 412


def send_checkpoints() -> int:
    """The newest checkpoint of each tenant to each place named in the settings; how many."""
    return sum(
        send_new(sink, tenant_id, send, newest_only=True)
        for sink, send in _places()
        for tenant_id in tenants_behind(sink)
    )


def _places() -> Iterator[tuple[str, Send]]:
    if settings.CHECKPOINT_WEBHOOK:
        yield WEBHOOK, partial(post_checkpoints, settings.CHECKPOINT_WEBHOOK)
    if settings.CHECKPOINT_PUT_URL:
        yield OBJECTS, partial(put_checkpoints, settings.CHECKPOINT_PUT_URL)


def post_checkpoints(url: str, checkpoints: Sequence[Checkpoint]) -> None:
    """One signed message each."""
    for checkpoint in checkpoints:
        message = Message(
            url=url,
            body={
                "type": "log.checkpoint",
                "timestamp": format_time(checkpoint.created_at),
                "data": {
                    "tenant_id": checkpoint.tenant_id,
                    "tree_size": checkpoint.tree_size,
                    "checkpoint": checkpoint.text,
                },
            },
            message_id=message_id(f"checkpoint:{checkpoint.tenant_id}:{checkpoint.pk}"),
            secret=settings.CHECKPOINT_WEBHOOK_SECRET,
        )
        send_message(
            message, environment=settings.CONTEXTOS_ENV, proxy=settings.EGRESS_PROXY, now=utcnow()
        )


def put_checkpoints(url: str, checkpoints: Sequence[Checkpoint]) -> None:
    """One object each, never over another: the store may lock it for as long as the law says."""
    target = parse_target(url)
    client = open_client(
        rule_for(target, settings.CONTEXTOS_ENV),
        timeouts=_TIMEOUTS,
        max_bytes=_MOST_ANSWER,
        deadline=_DEADLINE,
        proxy=settings.EGRESS_PROXY,
    )
    for checkpoint in checkpoints:
        answer = client.request(
            "PUT", object_url(url, checkpoint), headers=_headers(), content=checkpoint.text.encode()
        )
        if not 200 <= answer.status <= 299 and answer.status != _ALREADY_THERE:
            said = f"{target.host} answered {answer.status}."
            raise coded_error("delivery.refused", message=said, data={"status": answer.status})


def object_url(url: str, checkpoint: Checkpoint) -> str:
    """Sorts by size; two keys that sign the same size have an object each."""
    name = f"{checkpoint.tree_size:020d}-{checkpoint.kid[:8]}.txt"
    return f"{url.rstrip('/')}/{quote(checkpoint.tenant_id, safe='')}/{quote(name, safe='')}"


def _headers() -> dict[str, str]:
    headers = {
        "Content-Type": "text/plain; charset=utf-8",
        "If-None-Match": "*",
        "User-Agent": "ContextOS",
    }
    if settings.CHECKPOINT_PUT_TOKEN:
        headers["Authorization"] = f"Bearer {settings.CHECKPOINT_PUT_TOKEN}"
    return headers
