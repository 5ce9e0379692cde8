"""Finds the state of this member's connection (connected, lost or cut off), and the members that share the shards."""

import time
from collections.abc import Callable, Iterable

from domogate.domain.ids import Id
from domogate.ports import LiveMember, MessageLink


def list_sharing(members: Iterable[LiveMember]) -> frozenset[Id]:
    """Return the members that share the shards: all members that are neither leaving nor cut off.

    If there is no such member, return all members that are not leaving.
    """
    staying = [live for live in members if not live.is_leaving]
    return frozenset(live.member.id for live in staying if live.link is not MessageLink.CUT_OFF) or frozenset(
        live.member.id for live in staying
    )


class LinkWatch:
    """Decides whether this member is cut off from the others.

    A member that has lost its connection is cut off if another member stays connected for the next `cut_off_after` seconds.
    If the NATS servers do not run, no member is connected, so no member hands over its shards. A member that has never been
    connected counts as cut off. Otherwise it would take shards that it would soon hand over.
    """

    def __init__(
        self, is_connected: Callable[[], bool], cut_off_after: float, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._is_connected = is_connected
        self._cut_off_after = cut_off_after
        self._monotonic = monotonic
        self._alone_since: float | None = None
        self.state = MessageLink.CUT_OFF

    def look(self, others: Iterable[LiveMember]) -> MessageLink:
        """Return the present state of the connection to NATS.

        `others` are the other members, as this member read them when it last renewed its lease.
        """
        if self._is_connected():
            self._alone_since, self.state = None, MessageLink.CONNECTED
        elif self.state is not MessageLink.CUT_OFF:
            now = self._monotonic()
            if not any(live.link is MessageLink.CONNECTED and not live.is_leaving for live in others):
                self._alone_since = None
            elif self._alone_since is None:
                self._alone_since = now
            is_cut_off = self._alone_since is not None and now - self._alone_since >= self._cut_off_after
            self.state = MessageLink.CUT_OFF if is_cut_off else MessageLink.LOST
        return self.state
