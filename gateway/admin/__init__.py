"""Admin pages of the gateway: what reaches outside lives here, whatever its noun."""

from gateway.admin import calls, runs

__all__ = ["calls", "runs"]
