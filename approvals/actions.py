"""The names under which approvals' changes stand in the log."""

from contextos.review.kinds import lifecycle_actions

ACTIONS = {
    "gate.drafted": "Gate drafted",
    "gate.edited": "Gate draft edited",
    **lifecycle_actions("gate", "Gate"),
    "approver_group.created": "Approver group made",
    "approver_group.joined": "Person added to an approver group",
    "approver_group.left": "Person removed from an approver group",
    "approval.voted": "Vote cast",
    "approval.vote_refused": "Vote refused",
    "approval.vote_withdrawn": "Vote withdrawn",
    "approval.approved": "Request approved",
    "approval.rejected": "Request rejected",
    "approval.expired": "Request expired",
    "approval.cancelled": "Request cancelled",
    "approval.voided": "Request voided",
    "approval.escalated": "Request escalated",
    "approval.asked": "Question asked on a request",
    "approval.answered": "Question answered on a request",
    "approval.commented": "Comment on a request",
    "delegation.given": "Vote delegated",
    "delegation.revoked": "Delegation ended",
    "notice.preferences_changed": "Notifications chosen",
    "notice.retried": "Failed notice sent again",
    "webhook.created": "Webhook added",
    "webhook.changed": "Webhook changed",
    "webhook.deleted": "Webhook removed",
    "webhook.tested": "Webhook tested",
}
