"""Lets an app write the parts of an answer to the connection directly, for event streams (Decision 0044)."""

from domogate.edge.direct import DirectConnection

WRITER = "domogate.writer"
"""The key under which the ASGI scope contains the connection.

An app with a long answer uses `write_now` and `until_writable` of the connection. ASGI's `send` is not suitable: it
needs a task, and it cannot say whether the client has read the earlier parts.
"""


class PartWriter(DirectConnection):
    """A connection that writes parts of the body of a running ASGI answer."""

    def write_now(self, data: bytes) -> bool:
        """Write a part of the body as a chunk, as uvicorn does it.

        Return False, and write nothing, if no answer is running. Also return False if the buffer of the connection is full,
        because the client reads the earlier parts too slowly.
        """
        cycle = self.cycle
        is_open = cycle.chunked_encoding and not cycle.response_complete and not cycle.disconnected
        if not is_open or self.flow.write_paused:
            return False
        self.transport.write(b"%x\r\n%b\r\n" % (len(data), data))
        return True

    async def until_writable(self) -> None:
        await self.flow.drain()
