"""How the adapter authenticates: least privilege, tokens for one audience, nothing passed on."""

import unicodedata
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from registry.manifest import Manifest
from registry.manifest.access import mapping, text, texts
from registry.manifest.origins import member
from registry.readiness.catalogue import rule
from registry.readiness.findings import Complaint, Severity
from registry.readiness.words import label, show, split_words

_TOKEN_TYPES = frozenset({"oauth2", "oidc"})
_YES = frozenset({"true", "yes", "on", "1"})
# Scopes that mean everything in their own system although no asterisk says so.
_BROAD_SCOPES = frozenset(
    {
        ".default",
        "admin",
        "all",
        "full",
        "full_access",
        "https://www.googleapis.com/auth/cloud-platform",
        "root",
        "superuser",
    }
)
_CHANGING_WORDS = frozenset({"admin", "create", "delete", "manage", "update", "write"})


def _scopes(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Every scope in the manifest with its pointer, also where a list was written as a text."""
    yield from _scopes_in(manifest.auth.get("initial_scopes"), "/auth/initial_scopes")
    for name, listed in mapping(manifest.auth, "step_up_scopes").items():
        yield from _scopes_in(listed, member("/auth/step_up_scopes", name))


def _scopes_in(listed: Any, pointer: str) -> Iterator[tuple[str, str]]:
    if isinstance(listed, str):
        yield from ((pointer, scope) for scope in listed.split())
    elif isinstance(listed, list):
        for index, scope in enumerate(listed):
            if isinstance(scope, str):
                yield member(pointer, index), scope


@rule(
    "auth.scope.wildcard",
    Severity.BLOCK,
    title="A scope is a wildcard",
    why="A wildcard grants what exists today and whatever is added tomorrow; nobody reviewed that.",
    fix="List the scopes the capabilities need, one by one.",
)
def auth_scope_wildcard(manifest: Manifest) -> Iterator[Complaint]:
    for pointer, scope in _scopes(manifest):
        if "*" in unicodedata.normalize("NFKC", unquote(scope)):
            yield Complaint(pointer, f"The scope {show(scope)} holds a wildcard.")


@rule(
    "auth.scope.broad",
    Severity.WARN,
    title="A scope reads as if it allowed everything",
    why="Some systems give one scope the run of the house; least privilege asks for narrower ones.",
    fix="Ask for the narrowest scopes the operations need, or confirm that this one is narrow.",
)
def auth_scope_broad(manifest: Manifest) -> Iterator[Complaint]:
    for pointer, scope in _scopes(manifest):
        if scope.strip().lower() in _BROAD_SCOPES or scope.strip().lower().endswith("/.default"):
            yield Complaint(pointer, f"The scope {show(scope)} reads as if it allowed everything.")


@rule(
    "auth.initial_scope_writes",
    Severity.WARN,
    title="An initial scope allows changes",
    why="What is asked for at the start is held by every call; changes belong into a step-up.",
    fix="Move the scope to `step_up_scopes` of the capability that needs it.",
)
def auth_initial_scope_writes(manifest: Manifest) -> Iterator[Complaint]:
    for pointer, scope in _scopes_in(manifest.auth.get("initial_scopes"), "/auth/initial_scopes"):
        if _CHANGING_WORDS.intersection(split_words(scope)):
            message = f"The initial scope {show(scope)} reads as if it allowed changes."
            yield Complaint(pointer, message)


@rule(
    "auth.token_passthrough.enabled",
    Severity.BLOCK,
    title="The caller's token is passed on to the adapter",
    why="A token issued for one service must never be accepted by another: whoever receives it "
    "could act as the caller everywhere.",
    fix="Set `allow_token_passthrough` to false; the gateway exchanges credentials instead.",
)
def auth_token_passthrough_enabled(manifest: Manifest) -> Iterator[Complaint]:
    given = manifest.auth.get("allow_token_passthrough")
    if given is True or (given and str(given).strip().lower() in _YES):
        yield Complaint("/auth/allow_token_passthrough", "Token passthrough is switched on.")


@rule(
    "auth.step_up.unknown_capability",
    Severity.BLOCK,
    title="Step-up scopes are given for a capability that does not exist",
    why="The scopes would never be asked for, and the capability they were meant for goes without.",
    fix="Use the exact id of a capability in this manifest.",
)
def auth_step_up_unknown_capability(manifest: Manifest) -> Iterator[Complaint]:
    known = {capability.capability_id for capability in manifest.capabilities}
    for name in mapping(manifest.auth, "step_up_scopes"):
        if name not in known:
            message = f"Step-up scopes are given for {show(name)}, which is not declared here."
            yield Complaint(member("/auth/step_up_scopes", name), message)


@rule(
    "auth.audience_missing",
    Severity.BLOCK,
    title="No token audience is declared",
    why="Without an audience, a token for this adapter would be good for others too.",
    fix="Name the adapter's own audience in `token_audience`.",
)
def auth_audience_missing(manifest: Manifest) -> Iterator[Complaint]:
    if manifest.auth_type not in _TOKEN_TYPES:
        return
    named = text(manifest.auth, "token_audience") or texts(manifest.auth, "token_audience")
    if not named or named in ("*", ("*",)):
        yield Complaint("/auth/token_audience", "No audience is named for the adapter's tokens.")


@rule(
    "auth.resource_missing",
    Severity.WARN,
    title="No resource indicator is declared",
    why="The resource tells the authorisation server which service a token is for (RFC 8707).",
    fix="Name the adapter's own address in `resource`.",
)
def auth_resource_missing(manifest: Manifest) -> Iterator[Complaint]:
    if manifest.auth_type in _TOKEN_TYPES and not text(manifest.auth, "resource"):
        yield Complaint("/auth/resource", "No resource is named for the adapter's tokens.")


@rule(
    "auth.none_in_production",
    Severity.WARN,
    title="The adapter runs in production without authentication",
    why="Anyone who can reach it can use it.",
    fix="Authenticate the gateway to the adapter, or have a reviewer accept the stated reason.",
)
def auth_none_in_production(manifest: Manifest) -> Iterator[Complaint]:
    if manifest.auth_type == "none" and manifest.environment == "production":
        reason = text(manifest.auth, "reason")
        said = f"; the reason given is {show(reason)}" if reason else ", and no reason is given"
        yield Complaint("/auth/type", f"The adapter uses no authentication in production{said}.")


@rule(
    "auth.step_up_missing",
    Severity.WARN,
    title="A write needs no scope of its own",
    why="If the initial scopes suffice to change things, every lookup carries that power too.",
    fix="Give the capability its own scopes in `step_up_scopes`.",
)
def auth_step_up_missing(manifest: Manifest) -> Iterator[Complaint]:
    if manifest.auth_type not in _TOKEN_TYPES:
        return
    given = mapping(manifest.auth, "step_up_scopes")
    for capability in manifest.writes():
        if capability.capability_id and not texts(given, capability.capability_id):
            message = f"{label(capability)} changes something but asks for no scope of its own."
            yield Complaint(member("/auth/step_up_scopes", capability.capability_id), message)
