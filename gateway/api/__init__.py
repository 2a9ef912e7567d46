"""REST of the gateway, below /api/v1/."""
