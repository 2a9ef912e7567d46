"""REST of the log: records, proofs, exports."""
