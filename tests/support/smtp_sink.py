"""A mail server that accepts every mail and keeps it for the test."""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path

from support.tls import make_self_signed


class SmtpSink:
    """Supports the needed parts of RFC 5321, STARTTLS (RFC 3207) and AUTH PLAIN (RFC 4954). `refuses`: a command to refuse."""

    def __init__(self, trust: ssl.SSLContext | None = None, refuses: str = "") -> None:
        self.port = 0
        self.raw: list[bytes] = []
        self.receivers: list[str] = []
        self.logins: list[tuple[str, str]] = []
        self.encrypted: list[bool] = []
        self._trust = trust
        self._refuses = refuses

    @property
    def messages(self) -> list[EmailMessage]:
        return [message_from_bytes(raw, policy=default) for raw in self.raw]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._serve_commands(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            pass
        finally:
            writer.close()

    async def _serve_commands(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 sink\r\n")
        while line := await reader.readline():
            words = line.decode().strip()
            command = words.split(" ")[0].upper()
            if command == self._refuses:
                writer.write(b"550 not here\r\n")
            elif command == "EHLO":
                tls = b"250-STARTTLS\r\n" if self._trust else b""
                writer.write(b"250-sink\r\n" + tls + b"250-AUTH PLAIN\r\n250 SMTPUTF8\r\n")
            elif command == "STARTTLS":
                assert self._trust is not None
                writer.write(b"220 go ahead\r\n")
                await writer.drain()
                await writer.start_tls(self._trust)
            elif command == "AUTH":
                _, user, password = base64.b64decode(words.split(" ")[2]).decode().split("\0")
                self.logins.append((user, password))
                writer.write(b"235 welcome\r\n")
            elif command == "RCPT":
                self.receivers.append(words.partition("<")[2].partition(">")[0])
                writer.write(b"250 ok\r\n")
            elif command == "DATA":
                writer.write(b"354 go on\r\n")
                self.raw.append((await reader.readuntil(b"\r\n.\r\n")).removesuffix(b".\r\n"))
                self.encrypted.append(writer.get_extra_info("ssl_object") is not None)
                writer.write(b"250 taken\r\n")
            elif command == "QUIT":
                writer.write(b"221 bye\r\n")
                return
            else:
                writer.write(b"250 ok\r\n")


@asynccontextmanager
async def smtp_sink(trust: ssl.SSLContext | None = None, *, tls: bool = False, refuses: str = "") -> AsyncIterator[SmtpSink]:
    """With `tls`, encrypted from the first byte. Otherwise it offers STARTTLS if a context is given."""
    sink = SmtpSink(None if tls else trust, refuses)
    server = await asyncio.start_server(sink.serve, "127.0.0.1", 0, ssl=trust if tls else None)
    sink.port = server.sockets[0].getsockname()[1]
    try:
        yield sink
    finally:
        server.close()
        await server.wait_closed()


def certified(folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """TLS contexts for a server at 127.0.0.1 and for a client that trusts it."""
    tls = make_self_signed(folder)
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(tls.certificate, tls.key)
    return server, ssl.create_default_context(cafile=str(tls.certificate))
