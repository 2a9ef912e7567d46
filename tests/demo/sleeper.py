"""A process that does nothing until it is killed."""

import threading

threading.Event().wait(60)
