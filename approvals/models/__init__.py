"""Tables of approvals: gates and who keeps them, requests, votes, stand-ins, messages."""

from approvals.models.gates import ApproverGroup, Gate, GateReview, GateVersion
from approvals.models.notices import Notice, NoticePreference, Webhook
from approvals.models.requests import ApprovalRequest, Remark, Vote
from approvals.models.saved_views import SavedView
from approvals.models.stand_ins import Delegation

__all__ = [
    "ApprovalRequest",
    "ApproverGroup",
    "Delegation",
    "Gate",
    "GateReview",
    "GateVersion",
    "Notice",
    "NoticePreference",
    "Remark",
    "SavedView",
    "Vote",
    "Webhook",
]
