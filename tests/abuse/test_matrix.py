"""Role x tenant x object x action over REST: who is let in, and that other tenants do not exist."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.abuse.matrix import ABSENT, Answer, Estate, Route, api_routes, ask
from tests.abuse.verdicts import CALLERS, LET_IN, MATRIX

OWN, FOREIGN = "ownmarker", "foreignmarker"
LEAST_ROWS = 1_000
# A first version makes the thing itself, in the caller's tenant: the empty document is at fault.
MAKES_ITS_OWN = {(f"{prefix}versions", "POST") for prefix in ("", "packs-", "policies-")}
ROUTES = api_routes()


def test_the_table_names_every_route_and_method() -> None:
    served = {route.name: set(route.methods) for route in ROUTES}
    assert served == {name: set(row) for name, row in MATRIX.items()}
    assert LET_IN.keys() <= {(name, method) for name, row in MATRIX.items() for method in row}


def _expected(allowed: bool, caller: str) -> int | None:
    """What the door itself answers; None when it lets the caller in."""
    if caller == "nobody":
        return 401
    return None if allowed else 403


def _own_status(caller: str, row: tuple[str, str]) -> int:
    """What this caller gets for a thing of their own tenant."""
    name, method = row
    refused = _expected(caller in MATRIX[name][method], caller)
    if refused is not None:
        return refused
    told = LET_IN[row] if method != "GET" else LET_IN.get(row, 200)
    return told if isinstance(told, int) else told.get(caller, told[""])


def _own_fault(caller: str, row: tuple[str, str], answer: Answer) -> str:
    """Their own thing: let in or not, and then answered, exactly as the table says."""
    if FOREIGN in answer.text:
        return "another tenant's words"
    wanted = _own_status(caller, row)
    return "" if answer.status == wanted else f"wanted {wanted}"


def _foreign_fault(caller: str, row: tuple[str, str], foreign: Answer, absent: Answer) -> str:
    """A foreign thing answers like one that does not exist, to the last word."""
    name, method = row
    allowed = caller in MATRIX[name][method]
    wanted = _expected(allowed, caller) or (422 if row in MAKES_ITS_OWN else 404)
    if foreign.status != wanted:
        return f"wanted {wanted}"
    theirs, nobodys = foreign.without(THEIRS), absent.without(ABSENT)
    return "" if (foreign.status, theirs) == (absent.status, nobodys) else "told from an absent one"


THEIRS: dict[str, str] = {}


def _rows(own: Estate, foreign: Estate) -> Iterator[tuple[str, int, str]]:
    """Each row tried: what it was, its status, and what is wrong with it."""
    THEIRS.clear()
    THEIRS.update(foreign.things)
    for caller in CALLERS:
        token = None if caller == "nobody" else own.token(caller)
        for route in ROUTES:
            for method in route.methods:
                yield from _tried(caller, token, route, method, own)


def _tried(
    caller: str, token: str | None, route: Route, method: str, own: Estate
) -> Iterator[tuple[str, int, str]]:
    row = f"{caller} {method} {route.name}"
    mine = ask(route, method, own.things, token)
    yield f"{row} own", mine.status, _own_fault(caller, (route.name, method), mine)
    if route.has_object:
        theirs, none = (ask(route, method, of, token) for of in (THEIRS, ABSENT))
        fault = _foreign_fault(caller, (route.name, method), theirs, none)
        yield f"{row} foreign", theirs.status, fault


@pytest.mark.live
@pytest.mark.django_db
def test_a_thousand_rows_end_as_the_table_says_and_show_nothing_of_another_tenant() -> None:
    rows = list(_rows(Estate(OWN), Estate(FOREIGN)))
    wrong = [f"{row}: {status}, {fault}" for row, status, fault in rows if fault]
    assert not wrong, "\n".join(wrong)
    assert len(rows) >= LEAST_ROWS
    reads = [status for row, status, _ in rows if row.endswith(" own") and " GET " in row]
    assert reads.count(200) > 100  # the walls are tried from inside, not from before the door
