"""Whether another attempt is allowed, and when: by the manifest's retry policy only (pure; C12)."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from contextos.core.envelopes import ResultStatus
from gateway.attempts import Attempt
from gateway.normalise import Normalised

FIRST_PAUSE = timedelta(milliseconds=200)
LONGEST_PAUSE = timedelta(seconds=30)


def retry_pause(attempt: Attempt, outcome: Normalised) -> timedelta | None:
    """How long to wait before the next attempt; None = this was the last."""
    if outcome.status is ResultStatus.OK or attempt.call.attempts >= attempt.max_attempts:
        return None
    if outcome.status is ResultStatus.UNKNOWN_OUTCOME and not attempt.may_run_again:
        return None
    if attempt.call.is_write and attempt.key is None:
        return None
    error = outcome.error or {}
    if not _is_retryable(attempt.declaration.get("retry_policy") or {}, error):
        return None
    return _pause(attempt.call.attempts, error.get("retry_after_ms"))


def _is_retryable(policy: Mapping[str, Any], error: Mapping[str, Any]) -> bool:
    """The codes the policy lists, else what the error says of itself."""
    listed = policy.get("retryable_error_codes")
    if isinstance(listed, list) and listed:
        return error.get("code") in listed or error.get("kind") in listed
    return bool(error.get("retryable"))


def _pause(attempts: int, asked_ms: Any) -> timedelta:
    """Doubles with each attempt, with a little chance so that a crowd does not return at once."""
    doubled: int = 2 ** (attempts - 1)
    chance = random.uniform(0.8, 1.2)  # noqa: S311  spreads load, protects nothing
    pause = min(LONGEST_PAUSE, FIRST_PAUSE * doubled) * chance
    asked = timedelta(milliseconds=asked_ms) if isinstance(asked_ms, int) else timedelta()
    return max(pause, asked)
