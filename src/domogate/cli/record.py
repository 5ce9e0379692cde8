"""`domogate record`: forwards requests to a gateway that serves the families, and writes its redacted answers to a file."""

from contextlib import closing
from pathlib import Path
from typing import Annotated

from domogate.cli._command import WrongUsage, plain_command, reporting_errors, top_level
from domogate.cli._files import Force, check_folder, check_free
from domogate.cli._options import option
from domogate.cli._output import note
from domogate.cli._tool_server import serve_tool
from domogate.conformance.operations import FAMILIES
from domogate.recording.exchanges import RecordingFile
from domogate.recording.recorder import Recorder, parse_upstream

commands = top_level()


@plain_command(commands, "record")
def record(
    upstream: Annotated[str, option("URL", "The {base_url} of the contract: the address of the gateway to record.")],
    out: Annotated[Path, option("FILE", "The file of the recording. Only its owner can read it.")] = Path("recording.jsonl"),
    host: Annotated[str, option("ADDRESS", "Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, option("PORT", "Port to listen on. 0 chooses a free port.", min=0, max=65535)] = 8090,
    timeout: Annotated[float, option("SECONDS", "Longest time for one answer.", min=0.1, max=600)] = 30.0,
    cacert: Annotated[Path | None, option("FILE", "Certificates to trust, in PEM format.")] = None,
    force: Force = False,
) -> None:
    """Until Ctrl-C, forward requests to a gateway that serves the families, and write its redacted answers to a file.

    Tokens, keys, names, e-mail addresses, postal addresses and pictures are not written.

    Example: `domogate record --upstream https://gateway.example.com --out home.jsonl`
    """
    with reporting_errors():
        try:
            parse_upstream(upstream)
        except ValueError as wrong:
            raise WrongUsage(f"--upstream: {wrong}.") from None
        check_free(out, force)
        check_folder(out)
        with closing(RecordingFile(out, replace=force)) as file:
            ca_file = None if cacert is None else str(cacert)
            recorder = Recorder(upstream, file, FAMILIES, timeout=timeout, ca_file=ca_file, tell=note)
            serve_tool(host, port, recorder, f"forwards to {upstream} and writes {out}")
        note(f"{file.count} answers are in {out}.")
