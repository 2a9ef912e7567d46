"""The second factor: enrolment, codes, recovery codes, reset, and freshness of the proof (D3)."""

from __future__ import annotations

import secrets
from base64 import b32encode
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import wraps
from typing import Any, Literal, TypeAlias
from urllib.parse import urlencode

import django_otp
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django_otp.models import Device

from contextos.core.errors import coded_error
from contextos.core.events import PLATFORM_TENANT, Actor
from contextos.identity.actors import person
from contextos.identity.changes import require_reason
from contextos.identity.events import record_event
from contextos.identity.models import RecoveryCode, RecoveryDevice, TotpDevice, User
from contextos.identity.services.people import require_manageable

SECRET_BYTES = 20  # RFC 4226 asks for 160 bits
RECOVERY_CODES = 10
RECOVERY_CODE_BYTES = 10  # 80 bits: too many to try, few enough to type
FEW_RECOVERY_CODES = 3
FRESH_SECONDS = 300
SESSION_KEY = "second_factor"

FactorKind = Literal["totp", "recovery"]
View: TypeAlias = Callable[..., HttpResponse]


@dataclass(frozen=True, slots=True)
class Factor:
    """Proof that a person held their second factor at a moment."""

    kind: FactorKind
    device_id: str
    proved_at: datetime


# --- what a person has -------------------------------------------------------------------------
def confirmed_device(user: User) -> TotpDevice | None:
    """The authenticator app that a person signs in with."""
    device: TotpDevice | None = TotpDevice.objects.filter(user=user, confirmed=True).first()
    return device


def recovery_codes_left(user: User) -> int:
    """How many unused recovery codes a person has."""
    return RecoveryCode.objects.filter(device__user=user, used_at__isnull=True).count()


# --- enrolment ---------------------------------------------------------------------------------
def begin_enrolment(*, user: User, replacing: bool = False) -> TotpDevice:
    """Make a new secret; earlier unconfirmed ones die, so nobody else's secret can be confirmed."""
    if confirmed_device(user) is not None and not replacing:
        raise coded_error("otp.required", message="This account already has an authenticator app.")
    with transaction.atomic():
        TotpDevice.objects.filter(user=user, confirmed=False).delete()
        device = TotpDevice(user=user, name="Authenticator app", confirmed=False)
        device.set_secret(secrets.token_bytes(SECRET_BYTES))
        device.save()
    return device


def pending_enrolment(*, user: User, device_pk: object) -> TotpDevice | None:
    """The unconfirmed device that this very session began, if it still stands."""
    if not isinstance(device_pk, int):
        return None
    rows = TotpDevice.objects.filter(user=user, confirmed=False, pk=device_pk)
    device: TotpDevice | None = rows.first()
    return device


def confirm_enrolment(*, user: User, device_pk: int, code: str, actor: Actor) -> Factor | None:
    """Accept the first code of a new device and retire the one before; None for a wrong code."""
    with transaction.atomic():
        device = (
            TotpDevice.objects.select_for_update()
            .filter(user=user, pk=device_pk, confirmed=False)
            .first()
        )
        if device is None or not device.verify_token(code):
            return None
        replaced, _ = TotpDevice.objects.filter(user=user, confirmed=True).delete()
        device.confirmed = True
        device.save(update_fields=["confirmed"])
        _tell(user, "identity.factor.enrolled", actor, data={"replaced": bool(replaced)})
    return _factor("totp", device)


def issue_recovery_codes(*, user: User, actor: Actor) -> tuple[str, ...]:
    """Ten fresh single-use codes; the earlier ones stop working. They can't be shown again."""
    codes = tuple(_new_recovery_code() for _ in range(RECOVERY_CODES))
    with transaction.atomic():
        device, _ = RecoveryDevice.objects.get_or_create(
            user=user, defaults={"name": "Recovery codes", "confirmed": True}
        )
        device.codes.all().delete()
        RecoveryCode.objects.bulk_create(
            RecoveryCode(device=device, code_hash=device.hash_code(code)) for code in codes
        )
        _tell(user, "identity.recovery_codes.issued", actor, data={"count": len(codes)})
    return codes


def _new_recovery_code() -> str:
    text = b32encode(secrets.token_bytes(RECOVERY_CODE_BYTES)).decode("ascii").lower()
    return "-".join(text[start : start + 4] for start in range(0, len(text), 4))


def reset_factor(*, user: User, actor: Actor, reason: str) -> None:
    """Take everything away, so that the person enrols anew; their open sessions lose the factor."""
    told = require_reason(reason)
    require_manageable(user, actor)
    if actor.kind == "user" and actor.id == user.user_id:
        # An open session must not be enough to get rid of the factor that guards it.
        raise coded_error(
            "permission.denied",
            message="Nobody can reset their own second factor.",
            remediation="Replace your app under My account, or ask another administrator.",
        )
    with transaction.atomic():
        TotpDevice.objects.filter(user=user).delete()
        RecoveryDevice.objects.filter(user=user).delete()
        _tell(user, "identity.factor.reset", actor, reason=told)


# --- proving it --------------------------------------------------------------------------------
def verify_code(*, user: User, code: str) -> Factor | None:
    """Check a code from the app or a recovery code; each is good once."""
    spelled = "".join(code.split())
    kind: FactorKind = "totp" if _looks_like_totp(spelled) else "recovery"
    with transaction.atomic():
        device = _device(user, kind, locked=True)
        if device is None or not device.verify_token(spelled):
            return None
        if kind == "recovery":
            left = recovery_codes_left(user)
            _tell(user, "identity.recovery_code.used", person(user, None), data={"left": left})
    return _factor(kind, device)


def seconds_to_wait(*, user: User, code: str = "000000") -> int:
    """How long codes of this kind are refused after wrong ones; 0 when a try is allowed."""
    kind: FactorKind = "totp" if _looks_like_totp("".join(code.split())) else "recovery"
    device = _device(user, kind)
    return 0 if device is None else device_wait(device)


def device_wait(device: TotpDevice | RecoveryDevice) -> int:
    """How long this very device refuses codes."""
    allowed, detail = device.verify_is_allowed()
    if allowed or not detail:
        return 0
    remaining = (detail["locked_until"] - timezone.now()).total_seconds()
    return max(1, int(remaining) + 1)


def _looks_like_totp(code: str) -> bool:
    return len(code) <= 8 and code.isdigit()


def _device(
    user: User, kind: FactorKind, *, locked: bool = False
) -> TotpDevice | RecoveryDevice | None:
    model = TotpDevice if kind == "totp" else RecoveryDevice
    rows: QuerySet[Any] = model.objects.filter(user=user, confirmed=True)
    # Locked and freshly read: two requests with one code must not both see it unused.
    device: TotpDevice | RecoveryDevice | None = (
        rows.select_for_update() if locked else rows
    ).first()
    return device


def _factor(kind: FactorKind, device: Device) -> Factor:
    return Factor(kind=kind, device_id=device.persistent_id, proved_at=timezone.now())


# --- freshness in the session ------------------------------------------------------------------
def mark_fresh(request: HttpRequest, factor: Factor, *, purpose: str = "") -> None:
    """Verify the session with this proof; a new session key shuts out anybody who knew the old."""
    django_otp.login(request, Device.from_persistent_id(factor.device_id))
    request.session.cycle_key()
    request.session[SESSION_KEY] = {
        "device_id": factor.device_id,
        "proved_at": factor.proved_at.timestamp(),
        "purpose": purpose,
    }


def is_fresh(request: HttpRequest, *, purpose: str = "") -> bool:
    """Whether this session proved the factor lately and, when a purpose is named, for it."""
    kept: dict[str, Any] | None = request.session.get(SESSION_KEY)
    device_id = request.session.get(django_otp.DEVICE_ID_SESSION_KEY)
    if not kept or kept["device_id"] != device_id or not is_verified(request):
        return False
    if purpose and kept["purpose"] != purpose:
        return False
    age = timezone.now() - datetime.fromtimestamp(kept["proved_at"], tz=UTC)
    return timedelta(0) <= age <= timedelta(seconds=FRESH_SECONDS)


def step_up_url(*, purpose: str, next_path: str) -> str:
    """Where to send a person who must prove their factor again."""
    return f"{reverse('admin:verify')}?{urlencode({'purpose': purpose, 'next': next_path})}"


def require_fresh(purpose: str) -> Callable[[View], View]:
    """Guard a view: without a fresh proof for the purpose the person is asked for one first."""

    def guard(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if is_fresh(request, purpose=purpose):
                return view(request, *args, **kwargs)
            return HttpResponseRedirect(step_up_url(purpose=purpose, next_path=request.path))

        return guarded

    return guard


def is_verified(request: HttpRequest) -> bool:
    """Whether the session of this request proved a second factor; strangers' never did."""
    check = getattr(request.user, "is_verified", None)
    return bool(check is not None and check())


# --- the record --------------------------------------------------------------------------------
def _tell(
    user: User, action: str, actor: Actor, *, reason: str = "", data: dict[str, Any] | None = None
) -> None:
    """Record in every tenant the person works in: each of them relies on this factor."""
    tenants = sorted(set(user.memberships.current().values_list("tenant_id", flat=True)))
    for tenant_id in tenants or [PLATFORM_TENANT]:
        record_event(
            tenant_id=tenant_id,
            action=action,
            actor=actor,
            subject_kind="user",
            subject_id=user.user_id,
            reason=reason,
            data=data,
        )
