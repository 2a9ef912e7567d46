"""Who may do what in approvals; voting itself needs the permission on the gate object."""

from __future__ import annotations

AUTHORS = frozenset({"platform_admin", "manifest_author"})
REVIEWERS = frozenset({"platform_admin", "manifest_reviewer"})

_READ = tuple(
    f"approvals.view_{model}"
    for model in (
        "approvalrequest",
        "approvergroup",
        "delegation",
        "gate",
        "gatereview",
        "gateversion",
        "notice",
        "remark",
        "vote",
        "webhook",
    )
)
_QUEUE = tuple(
    f"approvals.view_{model}"
    for model in ("approvalrequest", "gate", "gateversion", "remark", "vote", "delegation")
)
_WRITE = (
    "approvals.add_gateversion",
    "approvals.change_gateversion",
    "approvals.submit_gateversion",
)
_REVIEW = ("approvals.review_gateversion",)
_PUBLISH = ("approvals.publish_gateversion", "approvals.retire_gateversion")
_ADMIN = (
    "approvals.add_approvergroup",
    "approvals.change_approvergroup",
    "approvals.add_webhook",
    "approvals.change_webhook",
    "approvals.delete_webhook",
    "approvals.add_delegation",
    "approvals.resend_notice",
)

PERMISSIONS: dict[str, tuple[str, ...]] = {
    "platform_admin": (*_READ, *_WRITE, *_REVIEW, *_PUBLISH, *_ADMIN),
    "manifest_author": ("approvals.view_gateversion", "approvals.view_gate", *_WRITE),
    "manifest_reviewer": (
        "approvals.view_gateversion",
        "approvals.view_gate",
        "approvals.view_gatereview",
        *_REVIEW,
    ),
    "finance_approver": (*_QUEUE, "approvals.add_delegation"),
    "auditor": _READ,
    "operator": (*_READ, "approvals.resend_notice"),
}
