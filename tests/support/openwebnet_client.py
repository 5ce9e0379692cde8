"""Runs OWNd, an independent client, against gateways; prints answers and events as JSON.

    python openwebnet_client.py < VISITS

VISITS is a JSON list. Each visit has the port and the password of a gateway, commands and status requests, and the last
expected event. The client opens an event and a command session, sends commands and requests, and receives until the last
event. Warnings of OWNd are printed too; there should be none.
"""

import asyncio
import json
import logging
import sys
from typing import Any

from OWNd.connection import OWNCommandSession, OWNEventSession, OWNGateway, OWNSession
from OWNd.message import OWNCommand

PATIENCE = 60.0


class WarningRecorder(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


async def visit_gateway(visit: dict[str, Any]) -> dict[str, object]:
    warnings = WarningRecorder()
    logger = logging.Logger("OWNd", logging.DEBUG)
    logger.addHandler(warnings)
    gateway = OWNGateway({"address": "127.0.0.1", "port": visit["port"], "password": visit["password"] or None})
    tested = await OWNSession(gateway, "test", logger).test_connection()
    said: dict[str, object] = {"tested": tested, "events": [], "complaints": warnings.lines}
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


async def visit_all(visits: list[dict[str, Any]]) -> list[dict[str, object]]:
    return await asyncio.gather(*map(visit_gateway, visits))


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(visit_all(json.load(sys.stdin)))))
