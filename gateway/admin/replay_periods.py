"""Replays of periods: ask for one, watch it, read what a draft would have changed (E4, C4)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.safestring import SafeString

from audit.access import Window
from contextos.adminkit.display import Tone, badge
from contextos.core.clock import parse_time
from contextos.core.errors import ContextOSError
from contextos.core.text import reveal_invisible, single_line
from contextos.identity.actors import actor_of
from gateway.admin.access import may_settle, record_window, tenant_of
from gateway.admin.frame import frame
from gateway.admin.links import call_url, refusal_url
from gateway.admin.replay_forms import PeriodForm
from gateway.admin.replaying import replay_url, result_badge
from gateway.models import ReplayAgainst, ReplayJob, ReplayState
from gateway.models.replays import OPEN_STATES
from gateway.replaying.findings import ReplayStatus
from gateway.replaying.jobs import cancel_job, start_job

SHOWN = 30
LOOK_AGAIN_SECONDS = 2
_TONES: dict[str, Tone] = {
    ReplayState.QUEUED: "info",
    ReplayState.RUNNING: "info",
    ReplayState.DONE: "success",
    ReplayState.FAILED: "danger",
    ReplayState.CANCELLED: "neutral",
}


# --- asking --------------------------------------------------------------------------------------
def periods_view(request: HttpRequest) -> HttpResponse:
    """The form and the last replays; posting starts one."""
    tenant_id = tenant_of(request)
    window = record_window(request, tenant_id)
    form = _form(request, tenant_id, window)
    if request.method == "POST" and form.is_valid():
        job = _started(request, tenant_id, form, window)
        if job is not None:
            return HttpResponseRedirect(reverse("admin:gateway_replay_period", args=[job.pk]))
    context = frame(
        request,
        "Replays of periods",
        form=form,
        jobs=[_line(job) for job in _jobs(tenant_id, window)],
        has_choices=bool(form.fields["against"].choices),  # type: ignore[attr-defined]
    )
    status = 422 if form.errors else 200
    return TemplateResponse(request, "gateway/replay_periods.html", context, status=status)


def _form(request: HttpRequest, tenant_id: str, window: Window | None) -> PeriodForm:
    chosen = ""
    for kind in (ReplayAgainst.POLICY, ReplayAgainst.MANIFEST):
        if request.GET.get(kind.value):
            chosen = f"{kind.value}:{request.GET[kind.value][:40]}"
    posted = request.POST if request.method == "POST" else None
    return PeriodForm(posted, tenant_id=tenant_id, reads_records=window is not None, chosen=chosen)


def _started(
    request: HttpRequest, tenant_id: str, form: PeriodForm, window: Window | None
) -> ReplayJob | None:
    try:
        draft = form.draft
        return start_job(
            tenant_id=tenant_id,
            period=form.period,
            actor=actor_of(request),
            draft=draft,
            window=window if window is not None and (window.is_auditor or not draft) else None,
        )
    except ContextOSError as refusal:
        form.add_error(None, f"{refusal.message} {refusal.remediation}")
        return None


def _jobs(tenant_id: str, window: Window | None) -> list[ReplayJob]:
    rows = ReplayJob.objects.filter(tenant_id=tenant_id).defer("tally")
    if window is None:
        rows = rows.exclude(against=ReplayAgainst.RECORD)
    return list(rows.order_by("-job_id")[:SHOWN])


def _line(job: ReplayJob) -> dict[str, Any]:
    return {
        "url": reverse("admin:gateway_replay_period", args=[job.pk]),
        "against": against_words(job),
        "state": state_badge(job.state),
        "since": job.since,
        "until": job.until,
        "done": job.done,
        "who": reveal_invisible(job.asked_by_name),
        "at": job.created_at,
    }


def against_words(job: ReplayJob) -> str:
    """What the period is held against."""
    return reveal_invisible(job.draft_ref) if job.draft_ref else "the record itself"


def state_badge(state: str) -> SafeString:
    """Where the work stands."""
    return badge(str(ReplayState(state).label), _TONES[state])


# --- one of them ---------------------------------------------------------------------------------
def period_view(request: HttpRequest, job_id: str) -> HttpResponse:
    """How far it is, and what came out."""
    tenant_id = tenant_of(request)
    job = _readable(request, tenant_id, job_id)
    if request.method == "POST":
        _stop(request, job)
        return HttpResponseRedirect(request.path)
    context = {
        **frame(
            request,
            "What a draft would have changed" if job.draft_ref else "Replay of a period",
            above=(reverse("admin:gateway_replays"), "Replays of periods"),
        ),
        "job": job,
        "state": state_badge(job.state),
        "against": against_words(job),
        "is_open": job.state in OPEN_STATES,
        "percent": int(job.share * 100),
        "may_stop": _may_stop(request, job),
        **(_trials(job) if job.draft_ref else _replays(job)),
    }
    answer = TemplateResponse(request, "gateway/replay_period.html", context)
    if job.state in OPEN_STATES:
        answer["Refresh"] = str(LOOK_AGAIN_SECONDS)
    return answer


def _readable(request: HttpRequest, tenant_id: str, job_id: str) -> ReplayJob:
    job = ReplayJob.objects.filter(tenant_id=tenant_id, pk=job_id).first()
    if job is None:
        raise Http404
    window = record_window(request, tenant_id)
    if window is None:
        if job.against == ReplayAgainst.RECORD:
            raise PermissionDenied
        return job
    # The end of a period lies outside it, as the end of a window does.
    last = max(job.since, job.until - timedelta(microseconds=1))
    if not (window.covers(job.since) and window.covers(last)):
        raise PermissionDenied
    return job


def _may_stop(request: HttpRequest, job: ReplayJob) -> bool:
    return job.asked_by == getattr(request.user, "user_id", "") or may_settle(request)


def _stop(request: HttpRequest, job: ReplayJob) -> None:
    if not _may_stop(request, job):
        raise PermissionDenied
    try:
        cancel_job(tenant_id=job.tenant_id, job_id=job.pk, actor=actor_of(request))
        messages.success(request, "Stopped. What was counted so far stays.")
    except ContextOSError as refusal:
        messages.error(request, refusal.message)


def _replays(job: ReplayJob) -> dict[str, Any]:
    tally = job.tally
    counts = tally.get("by_status") or {}
    return {
        "total": tally.get("total", 0),
        "statuses": [(result_badge(name), counts.get(name, 0)) for name in ReplayStatus],
        "types": sorted((tally.get("by_type") or {}).items()),
        "taken": sorted((tally.get("taken_from_record") or {}).items(), key=lambda i: -i[1]),
        "examples": [_replayed(item) for item in tally.get("examples") or []],
    }


def _replayed(item: dict[str, Any]) -> dict[str, Any]:
    first = (item.get("diffs") or [{}])[0]
    return {
        "url": replay_url(item["decision_id"]),
        "capability": single_line(str(item.get("capability_id") or "no capability"), limit=120),
        "id": item["decision_id"],
        "at": parse_time(item["at"]) if item.get("at") else None,
        "label": result_badge(item["status"]),
        "path": reveal_invisible(str(first.get("path", ""))),
        "message": reveal_invisible(str(first.get("message", ""))),
    }


def _trials(job: ReplayJob) -> dict[str, Any]:
    tally = job.tally
    total, changed = tally.get("total", 0), tally.get("changed", 0)
    left_out = tally.get("left_out", 0)
    return {
        "total": total,
        "changed": changed,
        "left_out": left_out,
        "unchanged": total - changed - left_out,
        "changes": [
            {
                "words": reveal_invisible(kind),
                "count": number,
                "examples": [_tried(item) for item in tally["examples"].get(kind, [])],
            }
            for kind, number in (tally.get("changes") or {}).items()
        ],
    }


def _tried(item: dict[str, Any]) -> dict[str, Any]:
    call = item.get("tool_call_id")
    return {
        "url": call_url(call) if call else refusal_url(item["decision_id"]),
        "capability": single_line(str(item["capability_id"]), limit=120),
        "id": item["decision_id"],
        "agent": single_line(str(item["agent_id"]), limit=80),
        "at": parse_time(item["at"]),
        "before": _side(item["before"]),
        "after": _side(item["after"]),
    }


def _side(stand: dict[str, Any]) -> dict[str, str]:
    details = [stand["mode"].replace("_", " ")] if stand["mode"] else []
    if stand["quorum"]:
        details.append("1 person" if stand["quorum"] == 1 else f"{stand['quorum']} people")
    details += [f"rule {name}" for name in stand["rules"][:3]]
    if stand["result"] and stand["result"] != "accepted":
        details.append(f"answer {stand['result']}")
    return {
        "verdict": single_line(stand["verdict"], limit=120),
        "detail": single_line(", ".join(details), limit=200),
    }
