"""The mutations of approvals, one module per subject."""
