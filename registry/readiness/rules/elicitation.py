"""Questions put to users: declinable, bound to a policy, and never leaking through a URL."""

import re
from collections.abc import Iterator
from urllib.parse import unquote, unquote_plus

from registry.manifest import Manifest
from registry.manifest.access import JSONObject, is_true, text, texts
from registry.manifest.origins import member
from registry.readiness.catalogue import rule
from registry.readiness.findings import Complaint, Severity
from registry.readiness.words import show, split_words

# A name is sensitive when it ends in one of these: `user_email` is, `email_template_id` is not.
_SENSITIVE_ENDINGS = frozenset(
    tuple(phrase.split())
    for phrase in (
        "aadhaar",
        "aadhaar number",
        "access token",
        "account number",
        "api key",
        "apikey",
        "auth token",
        "authorization",
        "bearer",
        "birthdate",
        "card number",
        "client secret",
        "credential",
        "credentials",
        "credit card",
        "customer name",
        "cvc",
        "cvv",
        "date of birth",
        "dob",
        "email",
        "email address",
        "first name",
        "full name",
        "home address",
        "iban",
        "id token",
        "jwt",
        "last name",
        "mobile number",
        "national id",
        "otp",
        "pan number",
        "passcode",
        "passport",
        "passport number",
        "passphrase",
        "passwd",
        "password",
        "phone",
        "phone number",
        "postal address",
        "private key",
        "pwd",
        "refresh token",
        "secret",
        "secret key",
        "session token",
        "social security number",
        "ssn",
        "street address",
        "tax id",
        "token",
        "username",
    )
)
# Values made to be shown once and worth nothing alone.
_HARMLESS_TOKENS = frozenset(
    {"consent", "csrf", "elicitation", "handoff", "nonce", "request", "state"}
)
_EXPRESSION = re.compile(r"\{([^{}]*)\}")
_USER_INFO = re.compile(r"^[a-z][a-z0-9+.-]*://[^/?#]*@", re.IGNORECASE)
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+\.[\w.]+")
_JWT = re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.")


def _elicitations(manifest: Manifest) -> Iterator[tuple[str, JSONObject]]:
    return manifest.parts("elicitation")


def _name(item: JSONObject) -> str:
    return show(text(item, "elicitation_id") or "unnamed")


@rule(
    "elicitation.url.sensitive_data",
    Severity.BLOCK,
    title="An elicitation URL carries credentials or personal data",
    why="URLs end up in histories, logs and referrer headers.",
    fix="Carry only an opaque, single-use state in the URL and keep the rest on the server.",
)
def elicitation_url_sensitive_data(manifest: Manifest) -> Iterator[Complaint]:
    for pointer, item in _elicitations(manifest):
        url = text(item, "url_template")
        if url and text(item, "mode") != "form":
            exposed = _exposed(url)
            if exposed:
                message = f"The URL of elicitation {_name(item)} carries {exposed}."
                yield Complaint(member(pointer, "url_template"), message)


def _exposed(url: str) -> str:
    if _USER_INFO.match(url):
        return "a user name or password before the host"
    named = next((name for name in _carried_names(url) if _is_sensitive(name)), "")
    if named:
        return show(named)
    _, _, rest = unquote(url).partition("://")
    if _EMAIL.search(rest) or _JWT.search(rest):
        return "an e-mail address or a token"
    return ""


def _carried_names(url: str) -> Iterator[str]:
    """The names of every placeholder, and of every query or fragment field that has a value."""
    decoded = unquote(url)
    for expression in _EXPRESSION.findall(decoded):
        for name in expression.lstrip("+#./;?&$").split(","):
            yield name.partition(":")[0].rstrip("*").strip()
    for part in re.split(r"[?#&;]", _EXPRESSION.sub("{}", url))[1:]:
        name, _, value = part.partition("=")
        if value:
            yield unquote_plus(name)


def _is_sensitive(name: str) -> bool:
    words = split_words(name)
    if words[-1:] == ("token",) and words[-2:-1] and words[-2] in _HARMLESS_TOKENS:
        return False
    return any(words[-length:] in _SENSITIVE_ENDINGS for length in (1, 2, 3) if words)


@rule(
    "elicitation.url.not_https",
    Severity.WARN,
    title="An elicitation sends users to a plain http address",
    why="What they type there can be read on the way.",
    fix="Use an https address.",
)
def elicitation_url_not_https(manifest: Manifest) -> Iterator[Complaint]:
    for pointer, item in _elicitations(manifest):
        url = text(item, "url_template").lower()
        if url and not url.startswith(("https:", "{")) and not manifest.is_relaxed:
            message = f"Elicitation {_name(item)} opens an address that is not https."
            yield Complaint(member(pointer, "url_template"), message)


@rule(
    "elicitation.policy_missing",
    Severity.WARN,
    title="An elicitation is bound to no policy",
    why="When a server may ask people for input is for policy to say.",
    fix="Name the policies in `policy_refs`.",
)
def elicitation_policy_missing(manifest: Manifest) -> Iterator[Complaint]:
    for pointer, item in _elicitations(manifest):
        if not texts(item, "policy_refs"):
            message = f"Elicitation {_name(item)} is bound to no policy."
            yield Complaint(member(pointer, "policy_refs"), message)


@rule(
    "elicitation.not_declinable",
    Severity.WARN,
    title="An elicitation can't be declined",
    why="People must be able to say no to a question a server asks.",
    fix="Set `user_may_decline` to true and handle the answer no.",
)
def elicitation_not_declinable(manifest: Manifest) -> Iterator[Complaint]:
    for pointer, item in _elicitations(manifest):
        if not is_true(item, "user_may_decline"):
            message = f"Elicitation {_name(item)} does not say that the user may decline."
            yield Complaint(member(pointer, "user_may_decline"), message)


@rule(
    "elicitation.consent_missing",
    Severity.WARN,
    title="A URL is opened without the user's consent",
    why="A link that opens by itself takes people where they did not choose to go.",
    fix="Set `requires_user_consent` to true.",
)
def elicitation_consent_missing(manifest: Manifest) -> Iterator[Complaint]:
    for pointer, item in _elicitations(manifest):
        if text(item, "mode") == "url" and not is_true(item, "requires_user_consent"):
            message = f"Elicitation {_name(item)} opens a URL without asking for consent."
            yield Complaint(member(pointer, "requires_user_consent"), message)
