"""E-mail about requests, as HTML and as text: a link and reviewed names, nothing to steal."""

from __future__ import annotations

import smtplib

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string

from approvals.links import preferences_url, request_url
from approvals.models import ApprovalRequest
from approvals.outbox import Undeliverable
from approvals.wording import wording
from contextos.core.errors import coded_error
from contextos.core.text import single_line
from contextos.identity.models import User

_HEADERS = {"Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": "All"}


def send_mail(request: ApprovalRequest, *, event: str, user: User) -> None:
    """One message to one person."""
    if not settings.EMAIL_BACKEND:
        raise Undeliverable("No mail server is set: see CONTEXTOS_EMAIL_HOST.")
    if not user.is_active:
        raise Undeliverable("The person is locked out.")
    if not user.email:
        raise Undeliverable("The person has no e-mail address.")
    message = compose(request, event=event, user=user)
    try:
        message.send()
    except smtplib.SMTPRecipientsRefused:
        raise Undeliverable("The mail server refused the address.") from None
    except smtplib.SMTPAuthenticationError:
        raise coded_error("mail.failed", message="The mail server refused our sign-in.") from None
    except (smtplib.SMTPException, OSError) as fault:
        # The server's own words could repeat an address or a name: only the kind of fault is kept.
        said = f"The mail server can't be used now ({type(fault).__name__})."
        raise coded_error("mail.failed", message=said) from fault


def compose(request: ApprovalRequest, *, event: str, user: User) -> EmailMultiAlternatives:
    """The message with both of its bodies."""
    words = wording(request, event)
    context = {
        "words": words,
        "name": single_line(user.first_name or user.get_username(), limit=60),
        "tenant": single_line(request.tenant.name, limit=100),
        "link": request_url(request.pk),
        "preferences": preferences_url(),
    }
    message = EmailMultiAlternatives(
        subject=single_line(f"[ContextOS] {words.headline}", limit=150),
        body=render_to_string("approvals/mail/request.txt", context),
        to=[user.email],
        headers=_HEADERS,
    )
    message.attach_alternative(
        render_to_string("approvals/mail/request.html", context), "text/html"
    )
    return message
