"""What the examples share: the ready-file of `make run`, and a client made from it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

# The client lies beside this folder. In a project of your own: copy it, and import it as it is.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from contextos_client import Client, ContextOSError, RunContext

REFUND, DESK = "support.refund", "support.desk"  # the intents that the demo has packs for


@dataclass(frozen=True)
class Demo:
    """A running demo, as its ready-file describes it."""

    ready: dict[str, Any]
    data_dir: Path

    @property
    def tenant_id(self) -> str:
        """The tenant everything happens in."""
        return str(self.ready["tenant_id"])

    def client(self, agent_token: str | None = None) -> Client:
        """The agent, acting in the name of the support person."""
        return Client(
            self.ready["url"],
            agent_token or self.ready["agent_token"],
            user_token=self.ready["user_token"],
            mcp_url=self.ready["mcp_url"],
        )

    def open_run(self, client: Client, intent: str = REFUND, **members: Any) -> RunContext:
        """A run to make calls in."""
        return client.open_run(self.tenant_id, intent, **members)


def start(example: Callable[[Demo], None], description: str | None) -> None:
    """Run an example on the demo named on the command line; a refusal nobody awaited ends it."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--ready-file", type=Path, default=Path(".demo/ready.json"))
    parser.add_argument("--data-dir", type=Path, help="of the demo, if not beside its ready-file")
    given = parser.parse_args()
    path: Path = given.ready_file
    if not path.exists():
        parser.error(f"{path} is not there. Start the demo with `make run` and wait for it.")
    try:
        ready = json.loads(path.read_text(encoding="utf-8"))
        example(Demo(ready, given.data_dir or data_dir_of(path)))
    except ContextOSError as fault:
        sys.exit(f"{type(fault).__name__}: {fault}\n{fault.remediation}")


def data_dir_of(ready_file: Path) -> Path:
    """The folder of the ready-file, or the one in it that holds a demo's keys."""
    folder = ready_file.absolute().parent
    beside = [keys.parent for keys in folder.glob("*/keys")]
    is_here = (folder / "keys").is_dir() or len(beside) != 1
    return folder if is_here else beside[0]


def expect(fulfilled: object, sentence: str) -> None:
    """End with an error when the demo behaves otherwise than described."""
    if not fulfilled:
        surprise(sentence)


def surprise(sentence: str) -> NoReturn:
    """End with an error."""
    sys.exit(f"SURPRISE: {sentence}")
