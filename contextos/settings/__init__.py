"""Settings: base for all, then dev (embedded default), test and prod."""
