"""Settings for the property tests: a busy machine is no failure."""

from hypothesis import settings

settings.register_profile("contextos", deadline=None)
settings.load_profile("contextos")
