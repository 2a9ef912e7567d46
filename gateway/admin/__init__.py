"""Admin pages of the gateway: what reaches outside lives here, whatever its noun."""
