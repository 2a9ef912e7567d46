"""Addresses of approvals' REST, below /api/v1/."""

from django.urls import path

from approvals.api import views

_ONE = "approvals/<str:approval_id>"

urlpatterns = [
    path("approvals", views.ApprovalListView.as_view(), name="approvals"),
    path(_ONE, views.ApprovalView.as_view(), name="approval"),
    path(f"{_ONE}/approve", views.ApproveView.as_view(), name="approval-approve"),
    path(f"{_ONE}/reject", views.RejectView.as_view(), name="approval-reject"),
    path(f"{_ONE}/withdraw", views.WithdrawView.as_view(), name="approval-withdraw"),
    path(f"{_ONE}/comments", views.CommentListView.as_view(), name="approval-comments"),
]
