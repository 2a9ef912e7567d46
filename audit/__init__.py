"""Audit remembers: events, decision records, proofs, exports."""
