"""Template filters of approvals."""
