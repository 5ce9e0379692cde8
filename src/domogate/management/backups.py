"""The operation that makes a backup of the store and sends it as a download."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack
from typing import BinaryIO

from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from domogate.http_api.operations import OperationTable
from domogate.management.services import ManagementServices, OperatorCall
from domogate.services.audit import AuditAction
from domogate.services.refusals import Conflict
from domogate.wire import to_datetime

OPERATIONS = OperationTable("backups")

SQLITE = "application/vnd.sqlite3"
_PIECE = 262_144


class _Download(StreamingResponse):
    """A response that sends the file of a backup.

    When the download has ended or was interrupted, the response closes `held`. This closes the file, and lets another backup
    begin.
    """

    def __init__(self, file: BinaryIO, held: ExitStack, headers: dict[str, str]) -> None:
        super().__init__(_read(file), media_type=SQLITE, headers=headers)
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._held:
            await super().__call__(scope, receive, send)


@OPERATIONS.add(
    "POST /backups",
    "Make a backup and download it; it contains secrets. Only one backup is made and downloaded at a time",
    media_types=(SQLITE,),
    success="The file that `domogate backup` writes. The header X-Secret-Key-Id names the secret key that a restore needs",
    errors={409: "Another backup is being made or downloaded, the backup failed, or the database is not SQLite"},
)
async def create_backup(services: ManagementServices, call: OperatorCall) -> Response:
    with ExitStack() as held:
        held.enter_context(services.long_tasks.run("backup"))
        try:
            backup = await services.make_backup()
        except ValueError as error:
            raise Conflict(f"{error}.") from None
        held.callback(backup.file.close)
        services.people.note(AuditAction.BACKUP, call.caller, "store")
        day = to_datetime(services.clock.now()).date()
        headers = {
            "content-length": str(backup.size),
            "content-disposition": f'attachment; filename="domogate-{day}.sqlite3"',
            **({} if backup.key_id is None else {"x-secret-key-id": backup.key_id}),
        }
        return _Download(backup.file, held.pop_all(), headers)


async def _read(file: BinaryIO) -> AsyncIterator[bytes]:
    while piece := await asyncio.to_thread(file.read, _PIECE):
        yield piece
