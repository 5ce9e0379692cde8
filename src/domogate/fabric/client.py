"""The client of the NATS library, with corrections of its bugs."""

import asyncio
from typing import Any, cast

from nats.aio.client import PING_PROTO, Client
from nats.aio.msg import Msg


class CorrectedClient(Client):
    """A NATS client that corrects three bugs of the library."""

    async def _send_ping(self, future: "asyncio.Future[bool] | None" = None) -> None:
        """Send a ping after the commands that wait in the buffer. This method replaces a method of the library.

        The library sends the ping before these commands. Then the answer to the ping does not prove that the server has got the
        commands. Messages could get lost when a subscription is ended.
        """
        self._pongs.append(asyncio.Future() if future is None else future)
        await self._send_command(PING_PROTO)
        await self._flush_pending()

    async def _process_pong(self) -> None:
        """Accept the answer to a ping even if nobody waits for it now. An error here would end the library's reading task."""
        if self._pongs and self._pongs[0].done():
            self._pongs[0] = asyncio.Future()
        await super()._process_pong()

    def _build_message(self, *parts: Any) -> Msg | None:
        """Return the message, or None if its subject is not UTF-8. An error here would end the library's reading task."""
        try:
            return cast(Msg, super()._build_message(*parts))
        except UnicodeDecodeError:
            return None
