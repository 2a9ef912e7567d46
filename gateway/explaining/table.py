"""Who explains which code; a code can be explained in one place only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from contextos.core.errors import spec_for
from gateway.explaining.types import Explanation, Refused, Step, Today, Way

Explainer = Callable[[Refused, Today], Explanation]

_explainers: dict[str, Explainer] = {}


def explains(*codes: str) -> Callable[[Explainer], Explainer]:
    """Declare a function as the one that explains these codes."""

    def declare(explainer: Explainer) -> Explainer:
        for code in codes:
            if code in _explainers:
                raise ValueError(f"error code {code!r} is explained twice")
            _explainers[code] = explainer
        return explainer

    return declare


def explained_codes() -> Mapping[str, Explainer]:
    """Every code that has an explanation of its own."""
    return MappingProxyType(_explainers)


def explain(refused: Refused, today: Today) -> Explanation:
    """The explanation; of a code nobody explains, what the catalogue says of it."""
    explainer = _explainers.get(refused.code)
    return explainer(refused, today) if explainer else _from_catalogue(refused)


def _from_catalogue(refused: Refused) -> Explanation:
    try:
        spec = spec_for(refused.code)
    except LookupError:
        # Codes of an adapter's own manifest: the tool itself said no.
        return Explanation(
            step=Step.INVOKE,
            headline="The adapter refused the call in its own words.",
            because=[refused.message] if refused.message else [],
            ways=[Way("Read what the adapter says and call it with something else.")],
        )
    return Explanation(
        step=Step.INVOKE,
        headline=f"{spec.title}.",
        because=[refused.message] if refused.message else [],
        ways=[Way(spec.remediation, "whoever runs this")],
    )
