"""Pages around signing in: second factor, step-up, own account, switching the tenant."""

from __future__ import annotations

from base64 import b64encode
from io import BytesIO
from typing import Any, cast

import qrcode
from django.contrib import admin, messages
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.cache import add_never_cache_headers
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from qrcode.image.svg import SvgPathImage

from contextos.adminkit.redirects import safe_next
from contextos.identity import second_factor
from contextos.identity.access import tenants_of
from contextos.identity.acting_tenant import switch_tenant
from contextos.identity.actors import person
from contextos.identity.forms import CodeForm
from contextos.identity.models import TotpDevice, User
from contextos.identity.roles import ROLES, in_words

ENROLMENT_KEY = "second_factor_enrolment"
ACCOUNT_PURPOSE = "account"
SAVED = "saved"

# What the page says a step-up is for. The address only names a purpose; its words stand here, so
# that a crafted link can't put sentences into our mouth.
PURPOSES = {
    ACCOUNT_PURPOSE: "Before your sign-in settings change, show that it is you.",
    "approve": "Before your decision counts, show that it is you.",
}
OTHER_PURPOSE = "Before you go on, show that it is you."


# --- the second factor -------------------------------------------------------------------------
@never_cache
@sensitive_post_parameters("code")
@require_http_methods(["GET", "HEAD", "POST"])
def verify(request: HttpRequest) -> HttpResponse:
    """Enrol, prove the factor at sign-in, or prove it again for a purpose."""
    if not request.user.is_authenticated:
        return redirect_to_login(request.get_full_path(), reverse("admin:login"))
    if not (request.user.is_active and request.user.is_staff):
        raise PermissionDenied
    if request.POST.get("step") == SAVED:
        return HttpResponseRedirect(safe_next(request))
    if second_factor.confirmed_device(_user(request)) is None:
        return _enrol(request, replacing=False)
    return _prove(request)


def _enrol(request: HttpRequest, *, replacing: bool) -> HttpResponse:
    device = _session_enrolment(request, replacing=replacing)
    form = CodeForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        user = _user(request)
        factor = second_factor.confirm_enrolment(
            user=user, device_pk=device.pk, code=form.cleaned_data["code"], actor=_self(request)
        )
        if factor is not None:
            del request.session[ENROLMENT_KEY]
            second_factor.mark_fresh(request, factor)
            return _show_new_codes(request)
        device.refresh_from_db()
        form.refuse(_refusal(second_factor.device_wait(device)))
    return _page(
        request,
        "admin/enrol.html",
        "Replace your authenticator app" if replacing else "Set up your second factor",
        form=form,
        qr_image=_qr_image(device.config_url()),
        secret_groups=_in_fours(device.base32_secret()),
        replacing=replacing,
    )


def _session_enrolment(request: HttpRequest, *, replacing: bool) -> TotpDevice:
    # Bound to the session: a secret that somebody else has seen is never the one confirmed here.
    user = _user(request)
    known = request.session.get(ENROLMENT_KEY)
    device = second_factor.pending_enrolment(user=user, device_pk=known)
    if device is None:
        device = second_factor.begin_enrolment(user=user, replacing=replacing)
        request.session[ENROLMENT_KEY] = device.pk
    return device


@sensitive_variables("codes")
def _show_new_codes(request: HttpRequest) -> HttpResponse:
    codes = second_factor.issue_recovery_codes(user=_user(request), actor=_self(request))
    return _page(request, "admin/recovery_codes.html", "Save your recovery codes", codes=codes)


def _prove(request: HttpRequest) -> HttpResponse:
    purpose = request.POST.get("purpose") or request.GET.get("purpose") or ""
    recovery = "recovery" in request.GET
    if second_factor.is_verified(request) and not purpose:
        return HttpResponseRedirect(safe_next(request))
    form = CodeForm(request.POST if request.method == "POST" else None, recovery=recovery)
    if form.is_bound and form.is_valid() and _accept(request, form, purpose):
        return HttpResponseRedirect(safe_next(request))
    return _page(
        request,
        "admin/verify.html",
        "Confirm it is you" if purpose else "Enter your code",
        form=form,
        purpose=purpose,
        purpose_text=PURPOSES.get(purpose.split(":")[0], OTHER_PURPOSE) if purpose else "",
        recovery=recovery,
        codes_left=second_factor.recovery_codes_left(_user(request)),
    )


def _accept(request: HttpRequest, form: CodeForm, purpose: str) -> bool:
    user, code = _user(request), form.cleaned_data["code"]
    wait = second_factor.seconds_to_wait(user=user, code=code)
    if wait:
        form.refuse(f"Too many wrong codes. Try again in {_duration(wait)}.")
        return False
    factor = second_factor.verify_code(user=user, code=code)
    if factor is None:
        form.refuse(_refusal(second_factor.seconds_to_wait(user=user, code=code)))
        return False
    second_factor.mark_fresh(request, factor, purpose=purpose)
    _warn_about_few_codes(request, factor)
    return True


def _refusal(wait: int) -> str:
    pause = f" You can try again in {_duration(wait)}." if wait else ""
    return (
        "That code is not right, or it was used already. Enter the one your app shows now; "
        f"if it keeps failing, check that your phone sets its clock automatically.{pause}"
    )


def _duration(seconds: int) -> str:
    if seconds < 120:
        return f"{seconds} second{'' if seconds == 1 else 's'}"
    return f"{-(-seconds // 60)} minutes"


def _warn_about_few_codes(request: HttpRequest, factor: second_factor.Factor) -> None:
    if factor.kind != "recovery":
        return
    left = second_factor.recovery_codes_left(_user(request))
    messages.warning(
        request,
        f"You used a recovery code; {left} left. If your phone is gone, set up a new "
        "authenticator app under My account.",
    )


# --- own account -------------------------------------------------------------------------------
@never_cache
@require_safe
def account(request: HttpRequest) -> HttpResponse:
    """What a person may know and change about their own sign-in."""
    user = _user(request)
    memberships = user.memberships.current().select_related("tenant", "role")
    return _page(
        request,
        "admin/account.html",
        "My account",
        device=second_factor.confirmed_device(user),
        codes_left=second_factor.recovery_codes_left(user),
        few_codes=second_factor.FEW_RECOVERY_CODES,
        roles=[
            {
                "membership": membership,
                "name": in_words(membership.role.name),
                "meaning": ROLES.get(membership.role.name, ""),
            }
            for membership in memberships
        ],
    )


@never_cache
@sensitive_post_parameters("code")
@require_http_methods(["GET", "HEAD", "POST"])
@second_factor.require_fresh(ACCOUNT_PURPOSE)
def replace_authenticator(request: HttpRequest) -> HttpResponse:
    """Enrol a new app in place of the present one."""
    return _enrol(request, replacing=True)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@second_factor.require_fresh(ACCOUNT_PURPOSE)
def renew_recovery_codes(request: HttpRequest) -> HttpResponse:
    """Ask first, because the codes kept so far stop working."""
    if request.method == "POST":
        return _show_new_codes(request)
    return _page(request, "admin/renew_recovery_codes.html", "Make new recovery codes")


# --- the tenant --------------------------------------------------------------------------------
@never_cache
@require_POST
def change_tenant(request: HttpRequest) -> HttpResponse:
    """Act in another tenant and start at its front page."""
    tenant = switch_tenant(request, request.POST.get("tenant_id", ""))
    messages.success(request, f"You now act in {tenant.name}.")
    return redirect("admin:index")


def tenant_choices(request: HttpRequest) -> list[dict[str, Any]]:
    """The tenants a person can switch to, with the present one marked."""
    acting = getattr(request, "acting_tenant", None)
    return [
        {"tenant_id": tenant.pk, "name": tenant.name, "acting": tenant == acting}
        for tenant in tenants_of(request.user)
    ]


# --- pieces ------------------------------------------------------------------------------------
def _user(request: HttpRequest) -> User:
    return cast(User, request.user)


def _self(request: HttpRequest) -> Any:
    tenant = getattr(request, "acting_tenant", None)
    return person(_user(request), tenant.pk if tenant else None)


def _page(request: HttpRequest, template: str, title: str, **context: Any) -> HttpResponse:
    shell = admin.site.each_context(request)
    page = TemplateResponse(
        request, template, {**shell, "title": title, "next": safe_next(request), **context}
    )
    add_never_cache_headers(page)
    return page


def _qr_image(text: str) -> str:
    picture = BytesIO()
    qrcode.make(text, image_factory=SvgPathImage, box_size=12, border=2).save(picture)
    return "data:image/svg+xml;base64," + b64encode(picture.getvalue()).decode("ascii")


def _in_fours(text: str) -> list[str]:
    return [text[start : start + 4] for start in range(0, len(text), 4)]
