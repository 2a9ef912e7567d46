"""Django's PostgreSQL engine, with a health check that costs nothing."""
