"""What a secret looks like: by the name it goes under, and by its own shape."""

import re
from collections.abc import Callable
from enum import Enum
from functools import lru_cache

MARK = "[redacted]"

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

# Names that give a secret away, as words; a name matches if the words follow each other in it.
_SECRET_NAMES = (
    ("authorization",),
    ("cookie",),
    ("credential",),
    ("otp",),
    ("totp",),
    ("jwt",),
    ("bearer",),
    ("cvv",),
    ("api", "key"),
    ("private", "key"),
    ("access", "key"),
    ("signing", "key"),
    ("encryption", "key"),
    ("field", "key"),
    ("card", "number"),
    ("recovery", "code"),
)
# These give it away as the end of a word too: `accesstoken`, `dbpassword`.
_SECRET_ENDINGS = ("token", "secret", "apikey", "privatekey")
_PASSWORD_ENDINGS = ("password", "passwd", "pwd", "passphrase")
# `token_ref` or `secret_name` talk about a secret without holding it.
_HARMLESS_LAST_WORDS = frozenset(
    re.findall(
        r"\w+",
        "at commitment count digest endpoint expires expiry fingerprint hash id ids in kid limit "
        "method methods mode name policy ref refs required server servers state supported ttl "
        "type uri url verified",
    )
)


class NameVerdict(Enum):
    """What a member's name says about its value."""

    HARMLESS = "harmless"
    SECRET = "secret"  # noqa: S105 - a verdict, not a password
    SECRET_UNLESS_NUMBER = "secret_unless_number"  # noqa: S105 - `max_tokens` counts


@lru_cache(maxsize=4096)
def judge_name(name: str) -> NameVerdict:
    """Whether a value under this name has to be hidden."""
    words = [word.lower() for word in _WORD.findall(name)]
    stems = [word.removesuffix("s") for word in words]
    if any(stem.endswith(_PASSWORD_ENDINGS) for stem in [*stems, *words]):
        return NameVerdict.SECRET
    if not words or words[-1] in _HARMLESS_LAST_WORDS or not _names_a_secret(stems):
        return NameVerdict.HARMLESS
    plural = words[-1] != stems[-1]
    return NameVerdict.SECRET_UNLESS_NUMBER if plural else NameVerdict.SECRET


def _names_a_secret(stems: list[str]) -> bool:
    if any(stem.endswith(_SECRET_ENDINGS) for stem in stems):
        return True
    return any(_contains(stems, sequence) for sequence in _SECRET_NAMES)


def _contains(stems: list[str], sequence: tuple[str, ...]) -> bool:
    length = len(sequence)
    return any(tuple(stems[at : at + length]) == sequence for at in range(len(stems) - length + 1))


# Text comes from outside, and none of it may make the search slow: a pattern that can fail only
# after reading far is tried once per run of its characters, not at every place inside it.
_START = r"(?<![A-Za-z0-9_-])"
_JWT = (
    _START + r"(?=[A-Za-z0-9_-]++\.)[A-Za-z0-9_-]*?eyJ[A-Za-z0-9_-]{5,}"
    r"\.[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]*)*"
)
_PEM = (
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?"
    r"(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)"
)
_WHOLE_SECRETS = re.compile(
    "|".join(
        (
            _JWT,
            _PEM,
            r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}",
            _START + r"sk-[A-Za-z0-9_-]{20,}",
            r"gh[pousr]_[A-Za-z0-9]{30,}",
            r"github_pat_[A-Za-z0-9_]{30,}",
            r"glpat-[A-Za-z0-9_-]{20,}",
            r"xox[abeoprs]-[A-Za-z0-9-]{10,}",
            r"(?:AKIA|ASIA)[0-9A-Z]{16}",
            r"AIza[A-Za-z0-9_-]{35}",
            r"npm_[A-Za-z0-9]{36}",
            r"ya29\.[A-Za-z0-9_-]{20,}",
            r"(?<=://)[^\s/@:\[\]]{0,256}:[^\s/@]{1,256}(?=@)",
        )
    )
)
_AFTER_A_LABEL = re.compile(
    r"(?P<label>\b(?i:bearer|dpop|basic)\s{1,4})"
    r"(?:(?=[A-Za-z._~+/=-]{0,200}[0-9])[A-Za-z0-9._~+/=-]{8,}|[A-Za-z0-9._~+/=-]{20,})"
    r"|(?P<query>(?<=[?&])(?i:[a-z_-]{0,40}token|api_?key|[a-z_-]{0,40}secret|password|otp"
    r"|sig|[a-z-]{0,20}signature)=)[^&#\s\[\]]+"
)
_HEADER_LINE = re.compile(
    r"(?P<label>(?i:\b(?:proxy-)?authorization|\b(?:set-)?cookie)[\"']?\s{0,4}[:=]\s{0,4}+[\"']?+)"
    r"(?!\[redacted\])[^\r\n\"']+"
)
_NAME_AND_SIGN = re.compile(
    r"(?<![\w.-])(?P<name>[A-Za-z][\w.-]{0,63})(?P<sign>[\"']?\s{0,3}[:=]\s{0,3})"
)
_VALUE = re.compile(r"\"(?:[^\"\\]|\\.)*+\"|'[^']*+'|[^\s,;&\"'{}\[\]()]+")
_MAX_PASSES = 5
_SHORTEST_SECRET_WORD = 18  # `sk_live_` and ten more


def hide_shapes(text: str) -> str:
    """The text without anything that has the shape of a secret."""
    if len(text) < _SHORTEST_SECRET_WORD and text.isidentifier():
        return text  # the usual name of a member: no shape has so few characters in one word
    return _until_stable(text, _hide_shapes_once)


def hide_everything(text: str) -> str:
    """As `hide_shapes`, and also without the values of `name=value` pairs with secret names."""
    return _until_stable(text, _hide_everything_once)


def _until_stable(text: str, once: Callable[[str], str]) -> str:
    # Hiding one secret can bring the edge of the next one to light.
    for _ in range(_MAX_PASSES):
        cleaned = once(text)
        if cleaned == text:
            break
        text = cleaned
    return text


def _hide_shapes_once(text: str) -> str:
    return _AFTER_A_LABEL.sub(_keep_label, _WHOLE_SECRETS.sub(MARK, text))


def _hide_everything_once(text: str) -> str:
    return _hide_pairs(_HEADER_LINE.sub(_keep_label, _hide_shapes_once(text)))


def _keep_label(match: re.Match[str]) -> str:
    groups = match.groupdict()
    return f"{groups.get('label') or groups.get('query') or ''}{MARK}"


def _hide_pairs(text: str) -> str:
    # After a harmless name the search goes on behind its sign: `ValueError: password=x` is one
    # pair whose value is another. Only the value of a telling name is read, so this stays linear.
    kept: list[str] = []
    done, found = 0, _NAME_AND_SIGN.search(text)
    while found is not None:
        value = _telling_value(found, text)
        if value is not None:
            kept += [text[done : found.end()], MARK]
            done = value.end()
        found = _NAME_AND_SIGN.search(text, max(done, found.end()))
    return "".join([*kept, text[done:]])


def _telling_value(found: re.Match[str], text: str) -> re.Match[str] | None:
    verdict = judge_name(found["name"])
    value = None if verdict is NameVerdict.HARMLESS else _VALUE.match(text, found.end())
    if value is None:
        return None
    bare = value[0].strip("\"'")
    counts = verdict is NameVerdict.SECRET_UNLESS_NUMBER and bare.isdecimal()
    return None if counts or bare in ("", MARK) else value
