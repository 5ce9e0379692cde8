"""OWNd in a process of its own against gateways: what it was told and heard of each, as JSON on standard output.

    python openwebnet_client.py < VISITS

VISITS is a JSON list; of each visit the port and the password of a gateway, commands and status requests, and the event that
comes last. Connects an event and a command session, sends the commands and requests, and listens until that last event came.
Whatever OWNd complains of, it logs at WARNING or above; that is printed too, and there should be none.
"""

import asyncio
import json
import logging
import sys
from typing import Any

from OWNd.connection import OWNCommandSession, OWNEventSession, OWNGateway, OWNSession
from OWNd.message import OWNCommand

PATIENCE = 60.0


class Complaints(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


async def pay(visit: dict[str, Any]) -> dict[str, object]:
    complaints = Complaints()
    logger = logging.Logger("OWNd", logging.DEBUG)
    logger.addHandler(complaints)
    gateway = OWNGateway({"address": "127.0.0.1", "port": visit["port"], "password": visit["password"] or None})
    tested = await OWNSession(gateway, "test", logger).test_connection()
    said: dict[str, object] = {"tested": tested, "events": [], "complaints": complaints.lines}
    if not tested or not tested["Success"]:
        return said
    events, told = OWNEventSession(gateway, logger), OWNCommandSession(gateway, logger)
    said["sessions"] = [await events.connect(), await told.connect()]
    for command in visit["commands"]:
        await told.send(OWNCommand.parse(command))
    for request in visit["requests"]:
        await told.send(OWNCommand.parse(request), is_status_request=True)
    heard: list[dict[str, object]] = []
    async with asyncio.timeout(PATIENCE):
        while not heard or heard[-1]["frame"] != visit["last"]:
            message = await events.get_next()
            heard.append({"frame": str(message), "log": getattr(message, "human_readable_log", None)})
    said["events"] = heard
    await told.close()
    await events.close()
    return said


async def pay_all(visits: list[dict[str, Any]]) -> list[dict[str, object]]:
    return await asyncio.gather(*map(pay, visits))


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(pay_all(json.load(sys.stdin)))))
