"""`domogate replay`: serves the answers of a recording again."""

from pathlib import Path
from typing import Annotated

from domogate.cli._command import Mistake, plain_command, reporting_errors, top_level
from domogate.cli._options import argument, option
from domogate.cli._tool_server import serve_tool
from domogate.recording.exchanges import BadRecording, read_recording
from domogate.recording.replayer import Replayer

commands = top_level()


@plain_command(commands, "replay")
def replay(
    file: Annotated[Path, argument("FILE", "A recording that `domogate record` wrote.")],
    host: Annotated[str, option("ADDRESS", "Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, option("PORT", "Port to listen on. 0 chooses a free port.", min=0, max=65535)] = 8091,
) -> None:
    """Serve the answers of a recording until Ctrl-C.

    Keys and tokens are not checked.

    Example: `domogate replay home.jsonl`
    """
    with reporting_errors():
        try:
            replayer = Replayer(read_recording(file))
        except BadRecording as bad:
            raise Mistake(str(bad)) from None
        serve_tool(host, port, replayer, f"answers {replayer.count} different requests from {file}")
