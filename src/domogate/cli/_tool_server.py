"""Runs the small HTTP server of `domogate record` or `domogate replay` until Ctrl-C."""

from contextlib import suppress

from domogate.cli._command import Mistake
from domogate.cli._output import note
from domogate.recording.server import Responder, ToolServer


def serve_tool(host: str, port: int, responder: Responder, what: str) -> None:
    """Serve until Ctrl-C. `what` says what the server does. Raises Mistake if the address cannot be used."""
    try:
        server = ToolServer(host, port, responder)
    except OSError as error:
        raise Mistake(f"{host}:{port} cannot be used: {error.strerror or error}.") from None
    with server, suppress(KeyboardInterrupt):
        note(f"{server.url} {what}. Ctrl-C ends it.")
        server.serve_forever()
