"""Admin pages of approvals: what waits for people lives here."""

from approvals.admin import delegations, gates, groups, notices, queue, webhooks

__all__ = ["delegations", "gates", "groups", "notices", "queue", "webhooks"]
