"""Application entry: approvals waits for people: gates, requests, votes."""

from django.apps import AppConfig


class ApprovalsConfig(AppConfig):
    """approvals waits for people: gates, requests, votes."""

    name = "approvals"
    verbose_name = "Approvals"
