"""Figures of governed calls: counted once from the records, the same on every surface (E5)."""
