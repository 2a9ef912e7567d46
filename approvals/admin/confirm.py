"""The confirm step: what will run once more, why, and the code; nothing is decided before it."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse

from approvals.admin.detail import outcome_words, seconds_since, seen_mark, subject_context
from approvals.admin.frame import frame, queue_url, url_of
from approvals.admin.reading import Reading
from approvals.figures import figures_of
from approvals.labels import VERDICT_WORDS, name
from approvals.models import ApprovalRequest
from approvals.services.votes import APPROVE, MAX_REASON, REJECT, Ballot, cast_vote, withdraw_vote
from approvals.states import RequestState
from contextos.core.errors import ContextOSError, http_status
from contextos.identity.models import User

FORBIDDEN = 403
_TITLES = {APPROVE: "Approve", REJECT: "Reject"}
_IN_THE_FORM = {"approval.reason_missing": "reason", "otp.required": "code", "otp.invalid": "code"}
_CODE_HELP = "The six digits that your authenticator app shows now. A code works once."
_WRONG_CODE = "That code is wrong, or was used already. Wait until your app shows the next one."


class VoteForm(forms.Form):
    """A reason, and what the gate asks for beyond it."""

    reason = forms.CharField(
        label="Why",
        max_length=MAX_REASON,
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    on_behalf_of = forms.ChoiceField(label="In whose name", required=False)
    code = forms.CharField(
        label="Six-digit code",
        required=False,
        max_length=12,
        help_text=_CODE_HELP,
        widget=forms.TextInput(
            attrs={"autocomplete": "one-time-code", "inputmode": "numeric", "pattern": "[0-9 ]*"}
        ),
    )

    def __init__(self, *args: Any, reading: Reading, verdict: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        destructive = reading.request.effective_mode == "destructive"
        self.needs_reason = verdict == REJECT or destructive
        self.needs_code = verdict == APPROVE and reading.terms.needs_factor(
            reading.request.effective_mode
        )
        self.fields["reason"].required = self.needs_reason
        self.fields["reason"].error_messages["required"] = (
            "Say why, in a sentence: it stands in the record."
        )
        self.fields["reason"].help_text = (
            "The caller reads it." if verdict == REJECT else "Auditors read it."
        )
        self._ask_for_code()
        self._offer_names(reading)

    def _ask_for_code(self) -> None:
        if not self.needs_code:
            del self.fields["code"]
            return
        self.fields["code"].required = True
        self.fields["code"].error_messages["required"] = (
            "This needs the code of the moment from your authenticator app."
        )

    def _offer_names(self, reading: Reading) -> None:
        field = self.fields["on_behalf_of"]
        if not isinstance(field, forms.ChoiceField):
            return
        field.choices = [(way.value, way.label) for way in reading.ways]
        if [way.value for way in reading.ways] == [""]:
            del self.fields["on_behalf_of"]  # nothing to choose

    def focus_fault(self) -> None:
        """Typing goes on where something is wrong, or at the first field."""
        wrong = next((key for key in self.fields if key in self.errors), "reason")
        for key, field in self.fields.items():
            field.widget.attrs.pop("autofocus", None)
            if key == wrong:
                field.widget.attrs["autofocus"] = True

    def clean_code(self) -> str:
        """Digits, however they were typed."""
        code = "".join(self.cleaned_data["code"].split())
        if not code.isascii() or not code.isdigit():
            raise forms.ValidationError("A code is six digits.")
        return code


def vote_view(request: HttpRequest, reading: Reading, verdict: str) -> HttpResponse:
    """Show it once more and ask; then vote."""
    if reading.own_vote is not None or not reading.waits:
        return conflict(request, reading)
    if not reading.ways:
        return _not_theirs(request, reading, verdict)
    posted = request.POST if request.method == "POST" else None
    form = VoteForm(posted, reading=reading, verdict=verdict)
    if form.is_bound and form.is_valid():
        try:
            return _voted(request, reading, verdict, form)
        except ContextOSError as refused:
            if refused.code not in _IN_THE_FORM:
                return conflict(request, reading, refused)
            _explain(form, refused)
    return _page(request, reading, verdict, form)


def _voted(
    request: HttpRequest, reading: Reading, verdict: str, form: VoteForm
) -> HttpResponseRedirect:
    values, asked = form.cleaned_data, reading.request
    giver = values.get("on_behalf_of") or ""
    cast_vote(
        tenant_id=asked.tenant_id,
        approval_id=asked.pk,
        approver=reading.viewer.user,
        ballot=Ballot(
            verdict=verdict,
            digest=request.POST.get("digest"),
            reason=values["reason"],
            code=values.get("code"),
            on_behalf_of=User.objects.get(user_id=giver) if giver else None,
            seconds_seen=seconds_since(reading, request.POST.get("seen", "")),
        ),
    )
    after = Reading(reading.viewer, ApprovalRequest.objects.get(pk=asked.pk))
    messages.success(request, outcome_words(after.request, after))
    return HttpResponseRedirect(f"{url_of(asked)}?voted=1")


def _explain(form: VoteForm, refused: ContextOSError) -> None:
    field = _IN_THE_FORM[refused.code]
    words = f"{refused.message} {refused.remediation}"
    if refused.code == "otp.invalid":
        wait = (refused.retry_after_ms or 0) // 1000
        words = f"{_WRONG_CODE} Next try in {wait} seconds." if wait > 1 else _WRONG_CODE
    form.add_error(field if field in form.fields else None, words)


def _page(request: HttpRequest, reading: Reading, verdict: str, form: VoteForm) -> TemplateResponse:
    asked = reading.request
    form.focus_fault()
    title = f"{_TITLES[verdict]} {name(asked.capability_id)}"
    context = {
        **frame(request, title, above=(url_of(asked), "Request")),
        **subject_context(request, reading, figures_of(request)),
        "form": form,
        "verdict": verdict,
        "button": _TITLES[verdict],
        "seen": request.POST.get("seen") or request.GET.get("seen") or seen_mark(reading),
        "back": url_of(asked),
    }
    status = 422 if form.is_bound else 200
    return TemplateResponse(request, "approvals/confirm.html", context, status=status)


# --- when there is nothing to decide -------------------------------------------------------------
def _not_theirs(request: HttpRequest, reading: Reading, verdict: str) -> HttpResponse:
    """Who sends the form all the same goes through the service: it records such attempts."""
    if request.method == "POST":
        ballot = Ballot(verdict=verdict, digest=request.POST.get("digest"))
        where = {"tenant_id": reading.request.tenant_id, "approval_id": reading.request.pk}
        try:
            cast_vote(**where, approver=reading.viewer.user, ballot=ballot)
        except ContextOSError as refused:
            return conflict(request, reading, refused)
    return _refused(request, reading)


def conflict(
    request: HttpRequest, reading: Reading, refused: ContextOSError | None = None
) -> HttpResponse:
    """409: somebody was quicker, or the page was old; says who and what, and leads on."""
    now = Reading(reading.viewer, ApprovalRequest.objects.get(pk=reading.request.pk))
    if refused is not None and http_status(refused) == FORBIDDEN:
        return _refused(request, now, f"{refused.message} {refused.remediation}")
    context = {
        **frame(request, "Nothing to decide", above=(url_of(now.request), "Request")),
        "title_words": _conflict_title(now, refused),
        "words": _conflict_words(now, refused),
        "asked": now.request,
        "capability": name(now.request.capability_id),
        "back": url_of(now.request),
        "queue_url": queue_url(),
    }
    return TemplateResponse(request, "approvals/conflict.html", context, status=409)


def _conflict_title(now: Reading, refused: ContextOSError | None) -> str:
    if refused is not None and refused.code == "approval.stale_digest":
        return "This is not the request you looked at"
    if now.request.state != RequestState.PENDING:
        return "Decided meanwhile" if now.standing else "Closed meanwhile"
    return "You have voted already" if now.own_vote else "Its time is up"


def _conflict_words(now: Reading, refused: ContextOSError | None) -> list[str]:
    if refused is not None and refused.code == "approval.stale_digest":
        return [f"{refused.message} Nothing you typed was recorded: look at it as it is now."]
    state = RequestState(now.request.state)
    words = [
        f"{name(str(vote.approver))} {VERDICT_WORDS[vote.verdict]} it "
        f"at {vote.created_at:%Y-%m-%d %H:%M:%S} UTC."
        for vote in now.standing
    ]
    if now.request.void_reason:
        words.append(now.request.void_reason)
    if state == RequestState.EXPIRED:
        words.append("Nobody decided in time; the agent may ask anew.")
    return [*words, f"It is {str(state.label).lower()} now. Nothing you typed was recorded."]


def _refused(request: HttpRequest, reading: Reading, words: str = "") -> HttpResponse:
    said = words or (reading.refused.sentence if reading.refused else "")
    context = {
        **frame(request, "Not yours to decide", above=(url_of(reading.request), "Request")),
        "title_words": "Not yours to decide",
        "words": [said],
        "asked": reading.request,
        "capability": name(reading.request.capability_id),
        "back": url_of(reading.request),
        "queue_url": queue_url(),
    }
    return TemplateResponse(request, "approvals/conflict.html", context, status=403)


# --- taking it back ------------------------------------------------------------------------------
def withdraw_view(request: HttpRequest, reading: Reading) -> HttpResponse:
    """Ask once more, then take one's vote back."""
    asked = reading.request
    if not reading.may_withdraw:
        return conflict(request, reading)
    if request.method == "POST":
        try:
            withdraw_vote(
                tenant_id=asked.tenant_id, approval_id=asked.pk, approver=reading.viewer.user
            )
        except ContextOSError as refused:
            return conflict(request, reading, refused)
        messages.success(request, "Your vote is withdrawn. You may vote again.")
        return HttpResponseRedirect(url_of(asked))
    context = {
        **frame(request, "Withdraw my vote", above=(url_of(asked), "Request")),
        "asked": asked,
        "capability": name(asked.capability_id),
        "vote": reading.own_vote,
        "back": url_of(asked),
    }
    return TemplateResponse(request, "approvals/withdraw.html", context)
