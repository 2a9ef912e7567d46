"""Descriptions are untrusted: text that speaks to the model, hides, or carries markup is named."""

import re
import unicodedata
from collections.abc import Iterator

from registry.manifest import Manifest
from registry.manifest.access import JSONObject, objects
from registry.manifest.origins import member
from registry.readiness.catalogue import rule
from registry.readiness.findings import Complaint, Severity
from registry.readiness.words import show
from registry.schema_tree import walk

_LONGEST_TEXT = 20_000
_TEXT_MEMBERS = ("name", "title", "description", "purpose", "remediation", "message")

_ORDERS = re.compile(
    r"(?:ignore|disregard|forget|override)\s+(?:\w+\s+){0,3}?"
    r"(?:previous|prior|above|earlier|preceding|other|all|system)\s+(?:\w+\s+){0,2}?"
    r"(?:instructions?|prompts?|rules|guidelines|directions|messages?|tools?)\b"
    r"|\byou\s+are\s+now\s+(?:an?|the|in)\b"
    r"|\bpretend\s+(?:to\s+be|that\s+you)\b"
    r"|\b(?:do\s+not|don['’]t|never)\s+(?:tell|inform|mention|reveal|notify|show|disclose)\b"
    r"[^.]{0,40}\b(?:user|human|operator|reviewer|approver)s?\b"
    r"|\bbefore\s+(?:(?:using|calling|invoking|running)\s+)?any\s+other\s+tools?\b"
    r"|\b(?:always|must)\s+(?:first\s+)?(?:call|use|invoke|run)\s+this\s+(?:tool|first|before)\b"
    r"|\b(?:do\s+not|don['’]t|never)\s+(?:ask|wait|stop)\s+(?:\w+\s+){0,3}?"
    r"(?:approval|confirmation|permission|consent)\b"
    r"|\binstead\s+of\s+(?:any|all)\s+other\s+tools?\b"
    r"|\b(?:bypass|circumvent|skip|evade)\s+(?:\w+\s+){0,3}?"
    r"(?:approvals?|policy|policies|guardrails?|review|confirmation|consent|gate)\b"
    r"|\b(?:reveal|print|repeat|output|include|send)\s+(?:\w+\s+){0,3}?"
    r"(?:system\s+prompt|conversation\s+history|chat\s+history|environment\s+variables)\b"
    r"|~/\.ssh\b|\bid_rsa\b",
    re.IGNORECASE,
)
_CONTROL_TOKENS = re.compile(
    r"<\|[a-z_]+\|>|\[/?INST\]|</?(?:system|assistant|important|instructions?)>|<<SYS>>"
    r"|^\s*(?:#{1,4}\s*)?(?:system|assistant)\s*(?:prompt)?\s*:",
    re.IGNORECASE | re.MULTILINE,
)
_MARKUP = re.compile(
    r"<\s*/?\s*(?:script|img|iframe|object|embed|svg|link|meta|style|form|input|body|video|audio)"
    r"\b|</?(?:a|b|i|u|p|br|hr|div|span|strong|em|h[1-6]|table|ul|ol|li|pre|font|details|summary)"
    r"(?:\s[^<>]*)?/?>|<!--|\bon(?:error|load|click|mouseover|focus)\s*=|javascript\s*:|data\s*:\s*text/html"
    r"|!\[[^\]]*\]\(\s*(?:https?:)?//",
    re.IGNORECASE,
)
_BLOB = re.compile(r"[A-Za-z0-9+/=_-]{160,}")
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_HIDDEN = re.compile(
    "[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\u00ad\u180e\u3164"
    "\U000e0000-\U000e0fff\U000f0000-\U0010fffd\ue000-\uf8ff]"
)
_JOINER_IN_LATIN = re.compile("[A-Za-z0-9 ][\u200c\u200d]|[\u200c\u200d][A-Za-z0-9 ]")
# A flag such as that of Scotland is a black flag followed by tag letters.
_SUBDIVISION_FLAG = re.compile("\U0001f3f4[\U000e0061-\U000e007a]+\U000e007f")
_MIXED_WORD = re.compile(r"[A-Za-z]+[\u0400-\u04ff]|[\u0400-\u04ff]+[A-Za-z]")


@rule(
    "description.suspicious",
    Severity.WARN,
    title="A description speaks to the model, hides text or carries markup",
    why="Models read descriptions as if they were instructions; authority belongs in policy, and "
    "what a reviewer can't see was not reviewed.",
    fix="Describe plainly what the operation does; remove instructions, markup and hidden "
    "characters.",
)
def description_suspicious(manifest: Manifest) -> Iterator[Complaint]:
    for pointer, text in _texts(manifest):
        reason = _suspicion(text)
        if reason:
            yield Complaint(pointer, f"The text {show(text)} {reason}.")


def _suspicion(text: str) -> str:
    text = text[:_LONGEST_TEXT]
    plain = _SUBDIVISION_FLAG.sub("", text)
    if _HIDDEN.search(plain) or _CONTROLS.search(plain) or _JOINER_IN_LATIN.search(plain):
        return "holds characters that can't be seen"
    folded = " ".join(unicodedata.normalize("NFKC", text).split())
    if _ORDERS.search(folded) or _CONTROL_TOKENS.search(text):
        return "reads like an instruction to the model"
    if _MARKUP.search(folded):
        return "carries markup or a script"
    if _BLOB.search(text):
        return "holds a long encoded block"
    return "mixes letters of different alphabets in one word" if _MIXED_WORD.search(text) else ""


def _texts(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Every text in the manifest that a model or a reviewer might read."""
    owners: list[tuple[str, JSONObject]] = [("", manifest.document)]
    for capability in manifest.capabilities:
        owners.append((capability.pointer, capability.raw))
        owners.extend((capability.at("errors", i), e) for i, e in objects(capability.raw, "errors"))
    for list_name in ("resources", "resource_templates", "prompts", "elicitation"):
        owners.extend(manifest.parts(list_name))
    for pointer, prompt in manifest.parts("prompts"):
        owners.extend((member(pointer, "arguments", i), a) for i, a in objects(prompt, "arguments"))
    for pointer, owner in owners:
        yield from _texts_of(pointer, owner)
    for pointer, schema in manifest.schema_documents():
        for place, node in walk(schema):
            if isinstance(node, dict):
                yield from _texts_of(pointer + place, node)


def _texts_of(pointer: str, owner: JSONObject) -> Iterator[tuple[str, str]]:
    for name in _TEXT_MEMBERS:
        value = owner.get(name)
        if isinstance(value, str) and value:
            yield member(pointer, name), value
