"""What every REST view of the log shares: people only, looking through their window."""

from __future__ import annotations

from audit.access import Window, window_of
from contextos.core.events import Actor
from contextos.identity.permissions import IsPerson
from contextos.identity.principals import principal_of
from contextos.restkit.views import PrivateAPIView


class ReadingView(PrivateAPIView):
    """Agents are refused, and so is a person without a role that reads records."""

    permission_classes = [IsPerson]

    @property
    def window(self) -> Window:
        """What the caller may read now; asked anew in every request."""
        caller = principal_of(self.request)
        return window_of(caller, caller.tenant_id)

    @property
    def actor(self) -> Actor:
        """The caller, as the log names them."""
        return principal_of(self.request).as_actor()
