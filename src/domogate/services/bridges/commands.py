"""Executes the commands that a bridge receives. They pass the same checks as the commands of the home API."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from domogate.common.strict_json import JsonRefused, parse_json
from domogate.domain.faults import Fault, NoSuchModule, NotYourPlant, ValueOutOfRange
from domogate.domain.ids import Id
from domogate.services.bridges.rights import Shown
from domogate.services.homes.commands import HomeCommands
from domogate.services.homes.homes import RUN_SCENE
from domogate.services.refusals import Refused
from domogate.wire.commands import CommandBody

LARGEST_COMMAND = 4_096
_LONGEST_ID = 64


class CommandAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The answer to a command. `id` is the id that the sender chose. `code` is the code of a fault (docs/errors.md)."""

    outcome: str
    id: str | None = None
    detail: str = ""
    code: int = 0


class BridgeCommands:
    """Executes commands with the rights that the user of the bridge has now."""

    def __init__(self, commands: HomeCommands, find_rights: Callable[[], Awaitable[Shown | None]]) -> None:
        """`find_rights` returns what the user of the bridge may see and command now. It raises Internal if this gateway does
        not know the latest rights.
        """
        self._commands = commands
        self._find_rights = find_rights

    async def execute(self, module_id: Id, payload: bytes) -> CommandAnswer:
        """Execute the command in the payload, and return the answer. If the command is refused, the answer says why."""
        number: str | None = None
        try:
            number, record = _read(payload)
            shown = await self._find_rights()
            if shown is None:
                raise NotYourPlant("the user of the bridge has no rights on the plant")
            if module_id not in shown.modules:
                raise NoSuchModule(f"the bridge has no module {module_id}")
            return await self._send(shown, module_id, number, record)
        except Fault as fault:
            return CommandAnswer("refused", number, fault.message, fault.code)
        except Refused as refused:
            return CommandAnswer("refused", number, str(refused))

    async def _send(self, shown: Shown, module_id: Id, number: str | None, record: dict[str, Any]) -> CommandAnswer:
        if record == {"do": RUN_SCENE}:
            await self._commands.run_scene(shown.principal, shown.home, module_id, address="")
            return CommandAnswer("started", number)
        try:
            body: CommandBody = msgspec.convert(record, CommandBody)
        except msgspec.ValidationError as wrong:
            raise ValueOutOfRange(str(wrong)) from None
        done = await self._commands.send(shown.principal, shown.home, module_id, body, key=None, address="")
        return CommandAnswer(str(done.outcome), number, done.record.problem)


def _read(payload: bytes) -> tuple[str | None, dict[str, Any]]:
    """Return the id that the sender chose, and the command. Raises ValueOutOfRange for a wrong payload."""
    if len(payload) > LARGEST_COMMAND:
        raise ValueOutOfRange(f"a command has at most {LARGEST_COMMAND} bytes")
    try:
        record = parse_json(payload)
    except JsonRefused as wrong:
        raise ValueOutOfRange(f"the command {wrong}") from None
    if not isinstance(record, dict):
        raise ValueOutOfRange("a command is a JSON object with the field do")
    number = record.pop("id", None)
    if number is not None and not (isinstance(number, str) and 0 < len(number) <= _LONGEST_ID and number.isprintable()):
        raise ValueOutOfRange(f"the id of a command is a text of 1 to {_LONGEST_ID} printable characters")
    return number, record
