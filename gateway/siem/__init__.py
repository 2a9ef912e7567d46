"""The stream to a SIEM: every row of a tenant's log, in its order, at least once (E7)."""
