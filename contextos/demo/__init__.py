"""The demo: a small world and the processes that serve it, started by `manage.py demo`."""
