"""Admin pages of the gateway: what reaches outside lives here, whatever its noun."""

from gateway.admin import alerts, calls, consents, credentials, endpoints, evidence, runs, siem

__all__ = ["alerts", "calls", "consents", "credentials", "endpoints", "evidence", "runs", "siem"]
