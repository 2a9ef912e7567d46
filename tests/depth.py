"""How deep property tests dig: a few examples with each change, all of them in `make scale`."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "suite")
SHARE = 8


def register_profiles() -> None:
    """`suite` for `make test`, `whole` for `make scale`, `deep` for a long evening."""
    busy = [HealthCheck.too_slow]  # a busy machine is no failure
    for name, number in (("suite", 25), ("whole", 100), ("deep", 2000)):
        settings.register_profile(
            name, deadline=None, max_examples=number, suppress_health_check=busy
        )
    settings.load_profile(PROFILE)


def examples(number: int) -> int:
    """What a test with a depth of its own gives as `max_examples`."""
    return max(25, number // SHARE) if PROFILE == "suite" else number
