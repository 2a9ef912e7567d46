"""Remembers where the parts of a normalised document stood in the document its author wrote."""

from contextos.core.json_pointer import escape


class Origins:
    """Maps a pointer into the normalised document back to the author's document."""

    def __init__(self) -> None:
        self._moved: dict[str, str] = {}

    def moved(self, *, to: str, source: str) -> None:
        """Note that what stood at `source` now stands at `to`."""
        if to != source:
            self._moved[to] = source

    def source_of(self, pointer: str) -> str:
        """The author's pointer; whatever was not moved stands where it always stood."""
        prefix, rest = pointer, ""
        while prefix:
            if prefix in self._moved:
                return self._moved[prefix] + rest
            prefix, _, token = prefix.rpartition("/")
            rest = f"/{token}{rest}"
        return pointer


def member(pointer: str, *names: str | int) -> str:
    """The pointer to a member of what a pointer names."""
    return pointer + "".join(f"/{escape(str(name))}" for name in names)
