"""ContextOS: the governed action plane for AI agents."""

__version__ = "0.1.0"
