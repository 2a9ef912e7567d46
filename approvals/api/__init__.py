"""REST of approvals, below /api/v1/."""
