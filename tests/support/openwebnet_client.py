"""OWNd in a process of its own against a gateway: what it was told and heard, as JSON on standard output.

    python openwebnet_client.py PORT PASSWORD COMMAND… -- STATUS…

Connects an event and a command session, sends the commands and status requests, and prints the events it heard until no more
came for a moment. Whatever OWNd complains of, it logs at WARNING or above; that is printed too, and there should be none.
"""

import asyncio
import json
import logging
import sys

from OWNd.connection import OWNCommandSession, OWNEventSession, OWNGateway, OWNSession
from OWNd.message import OWNCommand

QUIET = 0.5


class Complaints(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


async def main(port: int, password: str, commands: list[str], requests: list[str]) -> dict[str, object]:
    complaints = Complaints()
    logger = logging.getLogger("OWNd")
    logger.setLevel(logging.DEBUG)
    logger.addHandler(complaints)
    gateway = OWNGateway({"address": "127.0.0.1", "port": port, "password": password or None})
    tested = await OWNSession(gateway, "test", logger).test_connection()
    said: dict[str, object] = {"tested": tested, "events": [], "complaints": complaints.lines}
    if not tested or not tested["Success"]:
        return said
    events, told = OWNEventSession(gateway, logger), OWNCommandSession(gateway, logger)
    said["sessions"] = [await events.connect(), await told.connect()]
    for command in commands:
        await told.send(OWNCommand.parse(command))
    for request in requests:
        await told.send(OWNCommand.parse(request), is_status_request=True)
    heard = []
    try:
        while True:
            message = await asyncio.wait_for(events.get_next(), QUIET)
            heard.append({"frame": str(message), "log": getattr(message, "human_readable_log", None)})
    except TimeoutError:
        said["events"] = heard
    await told.close()
    await events.close()
    return said


if __name__ == "__main__":
    port, password, *frames = sys.argv[1:]
    split = frames.index("--")
    sys.stdout.write(json.dumps(asyncio.run(main(int(port), password, frames[:split], frames[split + 1 :]))))
