"""A browser session of somebody who has proved their second factor."""

from __future__ import annotations

import django_otp
from django.conf import settings
from django.contrib import auth
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.backends.db import SessionStore
from django.test import Client

from contextos.identity.acting_tenant import SESSION_KEY
from contextos.identity.models import Tenant, TotpDevice, User

BACKEND = "contextos.identity.backends.MembershipBackend"


def browser_of(user: User, tenant: Tenant | None = None) -> Client:
    """A client signed in as the person, acting in the tenant if one is named.

    The session is written as signing in leaves it: `force_login` takes fifteen statements to get
    there, and a thousand tests begin with one.
    """
    client = Client()
    session: SessionBase = SessionStore()
    session[auth.SESSION_KEY] = str(user.pk)
    session[auth.BACKEND_SESSION_KEY] = BACKEND
    session[auth.HASH_SESSION_KEY] = user.get_session_auth_hash()
    session[django_otp.DEVICE_ID_SESSION_KEY] = _device(user).persistent_id
    if tenant is not None:
        session[SESSION_KEY] = tenant.pk
    session.create()
    client.cookies[settings.SESSION_COOKIE_NAME] = str(session.session_key)
    return client


def _device(user: User) -> TotpDevice:
    device: TotpDevice | None = TotpDevice.objects.filter(user=user, confirmed=True).first()
    if device is None:
        device = TotpDevice(user=user, name="test", confirmed=True)
        device.set_secret(b"0123456789abcdefghij")
        device.save()
    return device
