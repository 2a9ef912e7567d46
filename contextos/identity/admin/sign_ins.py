"""Failed sign-ins as django-axes counts them, on our own pages and to be read only."""

from __future__ import annotations

from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.contrib import admin

from contextos.adminkit.base import InstallationAdmin, ReadOnlyAdmin

for model in (AccessAttempt, AccessFailureLog, AccessLog):
    if admin.site.is_registered(model):
        admin.site.unregister(model)


@admin.register(AccessAttempt)
class FailedSignInAdmin(ReadOnlyAdmin, InstallationAdmin):
    """Who failed to sign in, from where and how often; names of people of all tenants."""

    list_display = ["attempt_time", "username", "ip_address", "failures_since_start"]
    fields = ["attempt_time", "username", "ip_address", "user_agent", "failures_since_start"]
    search_fields = ["username", "ip_address"]
    nav_group = "System"
    nav_title = "Failed sign-ins"
    nav_icon = "lock_clock"
    empty_title = "Nobody failed to sign in"
    empty_text = "After too many failures a person is locked out for 15 minutes and listed here."
