"""JSON pointers (RFC 6901): naming places in a document, and visiting them all."""

from collections.abc import Iterator, Sequence


def escape(token: str) -> str:
    """One reference token, escaped for use in a pointer."""
    return token.replace("~", "~0").replace("/", "~1")


def unescape(token: str) -> str:
    """One reference token as the key it names."""
    return token.replace("~1", "/").replace("~0", "~")


def join(tokens: Sequence[str | int]) -> str:
    """The pointer that a path of keys and indexes makes."""
    return "".join(f"/{escape(str(token))}" for token in tokens)


def split(pointer: str) -> tuple[str, ...]:
    """The keys and indexes of a pointer; a pointer that does not start with `/` is an error."""
    if pointer and not pointer.startswith("/"):
        raise ValueError(f"{pointer!r} is not a JSON pointer")
    return tuple(unescape(token) for token in pointer.split("/")[1:])


def walk(value: object) -> Iterator[tuple[str, object]]:
    """Every value in a document, and every key as a value of its own, with its pointer.

    Iterative, so that depth is no danger.
    """
    pending: list[tuple[str, object]] = [("", value)]
    while pending:
        pointer, item = pending.pop()
        yield pointer, item
        if isinstance(item, dict):
            for key, member in item.items():
                inner = f"{pointer}/{escape(str(key))}"
                yield inner, key
                pending.append((inner, member))
        elif isinstance(item, list | tuple):
            pending.extend((f"{pointer}/{index}", member) for index, member in enumerate(item))
