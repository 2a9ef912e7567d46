"""Second factors: TOTP with an encrypted secret, recovery codes kept only as hashes (ADR 5)."""

from __future__ import annotations

import hashlib
import time
from base64 import b32encode
from typing import Any
from urllib.parse import quote, urlencode

from django.conf import settings
from django.db import models
from django.utils import timezone
from django_otp.models import Device, ThrottlingMixin, TimestampMixin
from django_otp.oath import TOTP

from contextos.identity.field_encryption import decrypt_field, encrypt_field

STEP_SECONDS = 30
DIGITS = 6
TOLERANCE_STEPS = 1
FREE_SLIPS = 2  # wrong codes in a row that cost no waiting: people mistype, and then type it right


# django-otp ships no types: to the type checker its classes are Any.
class TotpDevice(TimestampMixin, ThrottlingMixin, Device):  # type: ignore[misc]
    """An authenticator app. A code is accepted once, also when two requests race with it."""

    secret = models.BinaryField(help_text="Encrypted under the field keys, bound to the person.")
    last_step = models.BigIntegerField(default=-1)

    class Meta:
        verbose_name = "authenticator app"
        constraints = [
            models.UniqueConstraint(
                fields=["user"], condition=models.Q(confirmed=True), name="one_confirmed_totp_each"
            )
        ]

    def set_secret(self, secret: bytes) -> None:
        """Keep a shared secret; call before saving."""
        self.secret = encrypt_field(secret, context=self.context)

    @property
    def context(self) -> str:
        """Where the ciphertext of its secret belongs."""
        return f"identity.totp:{self.user.user_id}"

    def plain_secret(self) -> bytes:
        """The shared secret; only enrolment and verification need it."""
        return decrypt_field(bytes(self.secret), context=self.context)

    def base32_secret(self) -> str:
        """The secret as an authenticator app wants it typed."""
        return b32encode(self.plain_secret()).decode("ascii").rstrip("=")

    def config_url(self) -> str:
        """The otpauth:// address behind the QR code."""
        issuer = settings.OTP_TOTP_ISSUER
        label = quote(f"{issuer}:{self.user.get_username()}")
        query = {"secret": self.base32_secret(), "issuer": issuer, "digits": DIGITS}
        return f"otpauth://totp/{label}?{urlencode({**query, 'period': STEP_SECONDS})}"

    def get_throttle_factor(self) -> int:
        """Nothing for a slip or two; then four seconds, doubling with each further wrong code."""
        return 0 if self.throttling_failure_count <= FREE_SLIPS else 1

    def verify_token(self, token: Any) -> bool:
        """True once for a correct, unused code; wrong codes slow the next try down."""
        allowed, _ = self.verify_is_allowed()
        step = self._matching_step(str(token)) if allowed else None
        if step is not None and self._claim(step):
            self.throttle_reset()
            self.set_last_used_timestamp()
            return True
        if allowed:
            self.throttle_increment()
        return False

    def _matching_step(self, token: str) -> int | None:
        if not (token.isascii() and token.isdigit() and len(token) == DIGITS):
            return None
        totp = TOTP(self.plain_secret(), STEP_SECONDS, 0, DIGITS)
        totp.time = time.time()  # one reading, so that the step found is the step claimed
        matched = totp.verify(int(token), TOLERANCE_STEPS, self.last_step + 1)
        return int(totp.t()) if matched else None

    def _claim(self, step: int) -> bool:
        rows = TotpDevice.objects.filter(pk=self.pk, last_step__lt=step)
        won = bool(rows.update(last_step=step) == 1)
        if won:
            self.last_step = step
        return won


class RecoveryDevice(TimestampMixin, ThrottlingMixin, Device):  # type: ignore[misc]
    """Holder of a person's recovery codes, for the day the phone is lost."""

    class Meta:
        verbose_name = "set of recovery codes"
        constraints = [models.UniqueConstraint(fields=["user"], name="one_recovery_set_each")]

    def get_throttle_factor(self) -> int:
        """Seconds of waiting after the first wrong code; doubles with each further one."""
        return 2

    def verify_token(self, token: Any) -> bool:
        """True once for an unused recovery code."""
        allowed, _ = self.verify_is_allowed()
        if not allowed:
            return False
        unused = self.codes.filter(code_hash=self.hash_code(str(token)), used_at__isnull=True)
        if unused.update(used_at=timezone.now()) == 1:
            self.throttle_reset()
            self.set_last_used_timestamp()
            return True
        self.throttle_increment()
        return False

    def hash_code(self, code: str) -> str:
        """What is stored of a code: with 80 random bits a plain digest can't be reversed."""
        spelled = code.replace("-", "").replace(" ", "").lower()
        return hashlib.sha256(f"{self.user.user_id}:{spelled}".encode()).hexdigest()


class RecoveryCode(models.Model):
    """One single-use code, stored only as a digest."""

    device = models.ForeignKey(RecoveryDevice, on_delete=models.CASCADE, related_name="codes")
    code_hash = models.CharField(max_length=64)
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return "used recovery code" if self.used_at else "unused recovery code"
