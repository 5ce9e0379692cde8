"""`domogate replay`: serves the answers of a recording again, or makes an estate file from them."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from domogate.cli._command import Mistake, plain_command, reporting_errors, top_level
from domogate.cli._files import Force, check_free, write_file
from domogate.cli._options import argument, option
from domogate.cli._output import note
from domogate.cli._tool_server import serve_tool
from domogate.common.secrets import new_secret
from domogate.recording.exchanges import BadRecording, read_recording
from domogate.recording.replayer import Replayer

commands = top_level()

_MOST_MISTAKES = 10
_NEVER_SEEN = (
    "Names, addresses and e-mail addresses: the recorder replaced them.",
    "Passwords, rights of operators, limits of guests, keys and applications. Each user has a new password in this file.",
    "Drivers and addresses of devices. All modules are simulated.",
    "States of modules that the contract does not show, such as shutters and locks.",
    "Rooms of modules that only door entry, thermostat, multisocket or emergency lighting show.",
)


@plain_command(commands, "replay")
def replay(
    file: Annotated[Path, argument("FILE", "A recording that `domogate record` wrote.")],
    host: Annotated[str, option("ADDRESS", "Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, option("PORT", "Port to listen on. 0 chooses a free port.", min=0, max=65535)] = 8091,
    estate: Annotated[
        Path | None, option("OUT", "Do not serve: make an estate file of simulated devices from the recording.")
    ] = None,
    force: Force = False,
) -> None:
    """Serve the answers of a recording until Ctrl-C. With --estate, make an estate file from them instead.

    Keys and tokens are not checked.

    Example: `domogate replay home.jsonl`
    """
    with reporting_errors():
        try:
            if estate is not None:
                check_free(estate, force)
                _write_estate(file, estate)
                return
            replayer = Replayer(read_recording(file))
        except BadRecording as bad:
            raise Mistake(str(bad)) from None
        serve_tool(host, port, replayer, f"answers {replayer.count} different requests from {file}")


def _write_estate(file: Path, target: Path) -> None:
    from domogate.estate import EstateMistakes, read_estate  # Serving a recording does not need these folders.
    from domogate.estate.emit import emit_lists
    from domogate.recording.estate.document import read_estate_of

    seen = read_estate_of(read_recording(file), new_secret)
    unknown = (*seen.notes, *_NEVER_SEEN)
    text = "".join((*_comment(unknown), *emit_lists(seen.lists)))
    try:
        read = read_estate(text, str(target))
    except EstateMistakes as found:
        shown = "\n".join(found.lines()[:_MOST_MISTAKES])
        raise BadRecording(f"{file} does not make a correct estate file. Nothing was written.\n{shown}") from None
    write_file(target, text)
    modules = sum(len(list(plant.topology.every_module())) for plant in read.estate.plants)
    note(f"Wrote {target}: {len(read.estate.plants)} plants, {modules} modules, {len(read.estate.users)} users.")
    note("The recording does not show:\n" + "\n".join(f"- {line}" for line in unknown))


def _comment(unknown: Iterable[str]) -> Iterable[str]:
    yield "# Made from a recording. The recording does not show:\n"
    yield from (f"# - {line}\n" for line in unknown)
    yield "\n"
