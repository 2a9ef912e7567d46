"""Drives a served product by its own API description with schemathesis; sums up what it saw."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx
import schemathesis
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import Status, events, from_schema

Description = dict[str, Any]
DISCOVERY = "/discover"


@dataclass(slots=True)
class Seen:
    """What came back: how many cases, which statuses, and each kind of fault once."""

    cases: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    faults: dict[str, str] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)

    server_errors: Counter[str] = field(default_factory=Counter)

    def take(self, event: Any) -> None:
        """Add what one event of the engine tells."""
        if isinstance(event, events.NonFatalError | events.FatalError):
            fault = getattr(event, "value", None) or getattr(event, "exception", event)
            self.errors.append(str(fault))
        if isinstance(event, events.ScenarioFinished):
            self._take_scenario(event.recorder)

    def _take_scenario(self, recorder: Any) -> None:
        self.cases += len(recorder.interactions)
        for interaction in recorder.interactions.values():
            if interaction.response is not None:
                status = interaction.response.status_code
                self.statuses[status] += 1
                self._take_status(status, urlsplit(interaction.request.uri).path)
        for nodes in recorder.checks.values():
            for node in nodes:
                if node.status is Status.FAILURE and node.failure_info is not None:
                    self._take_fault(node.name, node.failure_info)

    def _take_status(self, status: int, path: str) -> None:
        """Nobody else asks and everything runs: a 503 is a fault of ours as well. Only discovery,
        which asks a server that is not ours, may say that it is not there or did not answer."""
        if status >= 500 and not (status in (502, 503, 504) and path.endswith(DISCOVERY)):
            self.server_errors[f"{status} {path}"] += 1

    def _take_fault(self, check: str, info: Any) -> None:
        failure = info.failure
        name = f"{check} | {failure.operation} | {failure.title}"
        self.faults.setdefault(name, f"{failure.message[:700]}\n{info.code_sample[:900]}")


def description_of(url: str) -> Description:
    """The product's own description, without the clause that would document every status."""
    answer = httpx.get(f"{url}/api/schema?format=json", trust_env=False, timeout=60)
    described: Description = answer.json()
    for path in described["paths"].values():
        for operation in path.values():
            if isinstance(operation, dict) and "responses" in operation:
                operation["responses"].pop("default", None)
    return described


def attack(
    url: str, described: Description, headers: Mapping[str, str], terms: Mapping[str, Any]
) -> Seen:
    """All phases, stateful too, all checks but those that `terms` switches off."""
    config = SchemathesisConfig.from_dict(
        {"headers": dict(headers), "request-timeout": 60, "base-url": url, **terms}
    )
    schema = schemathesis.openapi.from_dict(described, config=config)
    seen = Seen()
    for event in from_schema(schema).execute():
        seen.take(event)
    return seen
