"""REST of approvals: the queue, one request, and people's votes through the one service."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics
from rest_framework.request import Request
from rest_framework.response import Response

from approvals.api import examples
from approvals.api.bodies import CommentBody, NothingBody, VoteBody, read_body
from approvals.api.documents import document_of, documents_of
from approvals.api.serializers import ApprovalRequestSerializer, CommentSerializer
from approvals.eligibility import VOTING_ROLE
from approvals.models import ApprovalRequest
from approvals.selectors import gates_of
from approvals.services.remarks import comment
from approvals.services.votes import APPROVE, REJECT, Ballot, cast_vote, withdraw_vote
from approvals.states import RequestState
from audit.access import window_of
from contextos.core.clock import format_time
from contextos.core.errors import coded_error
from contextos.identity.models import User
from contextos.identity.permissions import IsAuthenticatedPrincipal
from contextos.identity.principals import Principal, principal_of
from contextos.identity.roles import AUDITOR
from contextos.restkit.views import PrivateAPIView

READ_ALL = frozenset({"auditor", "operator", "platform_admin"})
_FILTERS = frozenset({"gate", "state", "limit", "cursor"})
_GATE = OpenApiParameter("gate", str, description="Only requests at this gate.")
_STATE = OpenApiParameter(
    "state", str, enum=RequestState.values, description="Only requests in this state."
)


class IsPersonThemselves(IsAuthenticatedPrincipal):
    """A person; to act, with a token of their own that was not narrowed for an agent."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """403 for agents; a lent or narrowed token reads and does nothing else."""
        if not super().has_permission(request, view):
            return False
        caller = principal_of(request)
        borrowed = request.method != "GET" and (caller.lent or caller.scopes is not None)
        if borrowed or not caller.is_person:
            raise coded_error("approval.people_only")
        if request.method != "GET" and frozenset(caller.roles) == {AUDITOR}:
            raise coded_error("auditor.reads_only")
        return True


class ApprovalsView(PrivateAPIView):
    """What all views of approvals share."""

    permission_classes = [IsPersonThemselves]

    @property
    def principal(self) -> Principal:
        """The caller."""
        return principal_of(self.request)

    @property
    def tenant_id(self) -> str:
        """The caller's tenant: nothing of another one exists here."""
        return self.principal.tenant_id

    def person(self) -> User:
        """The caller's row."""
        return User.objects.get(user_id=self.principal.id)

    def readable(self) -> QuerySet[ApprovalRequest]:
        """Approvers read what waits at their gates; those who oversee the tenant read all."""
        roles = frozenset(self.principal.roles)
        rows = ApprovalRequest.objects.filter(tenant_id=self.tenant_id)
        if roles == {AUDITOR}:
            return window_of(self.principal, self.tenant_id).limit(rows)
        if not roles.isdisjoint(READ_ALL):
            return rows
        if VOTING_ROLE not in roles:
            raise coded_error("role.missing", data={"roles": sorted({VOTING_ROLE, *READ_ALL})})
        return rows.filter(gate_id__in=gates_of(self.person(), self.tenant_id))

    def found(self, approval_id: str) -> ApprovalRequest:
        """One readable request."""
        request = self.readable().filter(pk=approval_id).first()
        if request is None:
            raise coded_error("approval.unknown")
        return request

    def shown(self, approval_id: str) -> Response:
        """The request as it stands now, to the caller."""
        request = ApprovalRequest.objects.get(pk=approval_id, tenant_id=self.tenant_id)
        return Response(document_of(request, viewer=self.person()))


class ApprovalListView(ApprovalsView, generics.GenericAPIView[Any]):
    """`approvals`."""

    queryset = ApprovalRequest.objects.none()
    serializer_class = ApprovalRequestSerializer

    @property
    def keyset_ordering(self) -> tuple[str, ...]:
        """What waits, riskiest first and then oldest; history newest first."""
        waiting = self.request.query_params.get("state") == RequestState.PENDING
        return ("-risk", "created_at", "approval_id") if waiting else ("-approval_id",)

    @extend_schema(
        operation_id="approvals_list",
        tags=["approvals"],
        parameters=[_GATE, _STATE],
        responses=ApprovalRequestSerializer(many=True),
        examples=[examples.PENDING],
    )
    def get(self, request: Request) -> Response:
        """The requests at the caller's gates."""
        found = self.paginate_queryset(self._filtered()) or []
        documents = documents_of(found, viewer=self.person(), tenant_id=self.tenant_id)
        return self.get_paginated_response(documents)

    def _filtered(self) -> QuerySet[ApprovalRequest]:
        asked = self.request.query_params
        unknown = sorted(set(asked) - _FILTERS)
        if unknown:
            raise coded_error(
                "request.invalid",
                message=f"There is no filter called {unknown[0][:50]}.",
                data={"known": sorted(_FILTERS)},
            )
        rows = self.readable()
        if state := asked.get("state"):
            if state not in RequestState.values:
                raise coded_error(
                    "request.invalid",
                    message=f"There is no state called {state[:50]}.",
                    data={"known": RequestState.values},
                )
            rows = rows.filter(state=state)
        if gate := asked.get("gate"):
            rows = rows.filter(gate_id=gate[:200])
        return rows


class ApprovalView(ApprovalsView):
    """`approvals/{id}`."""

    @extend_schema(
        operation_id="approvals_read",
        tags=["approvals"],
        responses=ApprovalRequestSerializer,
        examples=[examples.PENDING, examples.CONSUMED],
    )
    def get(self, request: Request, approval_id: str) -> Response:
        """One request, with the digest that a vote has to name."""
        return Response(document_of(self.found(approval_id), viewer=self.person()))


class VoteView(ApprovalsView):
    """The two votes; the service checks in the order of the contract."""

    verdict: str

    def vote(self, approval_id: str) -> Response:
        """Cast it, and show what became of the request."""
        said = read_body(self.request, VoteBody)
        voter = self.person()
        ballot = Ballot(
            verdict=self.verdict,
            digest=said["digest"],
            reason=said["reason"],
            code=said["otp"],
            on_behalf_of=_giver(voter, said["on_behalf_of"]),
        )
        cast_vote(tenant_id=self.tenant_id, approval_id=approval_id, approver=voter, ballot=ballot)
        return self.shown(approval_id)


class ApproveView(VoteView):
    """`approvals/{id}/approve`."""

    verdict = APPROVE

    @extend_schema(
        operation_id="approvals_approve",
        tags=["approvals"],
        request=VoteBody,
        responses=ApprovalRequestSerializer,
        examples=[examples.APPROVE, examples.CONSUMED],
    )
    def post(self, request: Request, approval_id: str) -> Response:
        """Say yes to exactly what was shown; the last vote needed lets it run, once."""
        return self.vote(approval_id)


class RejectView(VoteView):
    """`approvals/{id}/reject`."""

    verdict = REJECT

    @extend_schema(
        operation_id="approvals_reject",
        tags=["approvals"],
        request=VoteBody,
        responses=ApprovalRequestSerializer,
        examples=[examples.REJECT],
    )
    def post(self, request: Request, approval_id: str) -> Response:
        """Say no, with a reason; no code is needed."""
        return self.vote(approval_id)


class WithdrawView(ApprovalsView):
    """`approvals/{id}/withdraw`."""

    @extend_schema(
        operation_id="approvals_withdraw",
        tags=["approvals"],
        request=NothingBody,
        responses=ApprovalRequestSerializer,
    )
    def post(self, request: Request, approval_id: str) -> Response:
        """Take one's own vote back while nothing has run."""
        read_body(request, NothingBody)
        withdraw_vote(tenant_id=self.tenant_id, approval_id=approval_id, approver=self.person())
        return self.shown(approval_id)


class CommentListView(ApprovalsView):
    """`approvals/{id}/comments`."""

    @extend_schema(
        operation_id="approvals_comment",
        tags=["approvals"],
        request=CommentBody,
        responses={201: CommentSerializer},
        examples=[examples.COMMENT],
    )
    def post(self, request: Request, approval_id: str) -> Response:
        """Say something for everybody who reads the request; it decides nothing."""
        text = read_body(request, CommentBody)["text"]
        author, asked = self.person(), self.found(approval_id)
        said = comment(tenant_id=self.tenant_id, approval_id=asked.pk, author=author, text=text)
        answer = {
            "author": author.user_id,
            "kind": said.kind,
            "text": said.text,
            "at": format_time(said.created_at),
        }
        return Response(answer, status=201)


def _giver(voter: User, user_id: str | None) -> User | None:
    """The person voted for; one who does not exist has delegated nothing, and neither did oneself.

    The voter stands for an unknown giver: eligibility refuses it like every missing delegation.
    """
    if user_id is None:
        return None
    return User.objects.filter(user_id=user_id).first() or voter
