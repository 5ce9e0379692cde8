"""The network ports on which the gateway listens.

They are bound before the gateway is built. They accept connections after the gateway has started.
"""

import asyncio
import contextlib
import ctypes
import errno
import socket
import struct
import sys
from collections.abc import AsyncIterator, Sequence

import msgspec

_BACKLOG = 2048
_RECEIVE_BUFFER = 16_384
"""The number of bytes that the system keeps for a connection before the gateway reads them.

One read returns at most this number of bytes.
"""
_SO_ATTACH_FILTER = 26
"""The number of this socket option on Linux. The module `socket` does not have it."""
_DROP_SYN = b"".join(
    struct.pack("=HBBI", *instruction)
    for instruction in (
        (0x30, 0, 0, 13),  # Load byte 13 of the TCP header: its flags.
        (0x45, 0, 1, 0x02),  # If the flag SYN is not set, skip the next instruction.
        (0x06, 0, 0, 0),  # Drop the packet.
        (0x06, 0, 0, 0xFFFF_FFFF),  # Accept the packet.
    )
)
"""A program for the packet filter of Linux. It drops the first packet of each new TCP connection."""


class CannotListen(OSError):
    """The gateway cannot listen on its port, or cannot use its certificate. If this happens at the start, the gateway ends.

    The message names the setting that must be changed. Or it says what is wrong in the socket unit of the service manager.
    """

    def __init__(self, message: str, number: int = 0) -> None:
        super().__init__(number, message)

    def __str__(self) -> str:
        return str(self.strerror)


class ManagedSocket(socket.socket):
    """A port that the service manager opened. It stays open when this process ends, and the next process continues with it."""


class Listening(msgspec.Struct, frozen=True):
    """Bound ports. They accept no connection before `server.run`.

    If port 0 was requested, `port` is the port that the system chose.
    """

    host: str
    port: int
    sockets: tuple[socket.socket, ...]
    metrics_port: int | None = None
    metrics_sockets: tuple[socket.socket, ...] = ()


@contextlib.asynccontextmanager
async def listen(
    host: str,
    port: int,
    metrics_host: str = "127.0.0.1",
    metrics_port: int | None = None,
    *,
    reuse_port: bool = False,
    managed: Sequence[ManagedSocket] = (),
) -> AsyncIterator[Listening]:
    """Bind the ports, so that the real port is known before the gateway is built. Close them at the end of the `with` block.

    Raises CannotListen if a port cannot be bound. If `reuse_port` is true, several processes of the same user can bind `port`:
    the system gives each connection to one of these processes. If `managed` has ports, they are used instead of `port`.
    """
    with contextlib.ExitStack() as opened:
        sockets: list[socket.socket] = [opened.enter_context(one) for one in managed]
        sockets = sockets or await _bind(host, port, "port", opened, reuse_port=reuse_port)
        metrics = [] if metrics_port is None else await _bind(metrics_host, metrics_port, "metrics_port", opened)
        yield Listening(host, _port_of(sockets), tuple(sockets), _port_of(metrics) if metrics else None, tuple(metrics))


async def _bind(
    host: str, port: int, setting: str, opened: contextlib.ExitStack, *, reuse_port: bool = False
) -> list[socket.socket]:
    """Return one bound socket for each address of `host`, all on the same port. Raises CannotListen if this is not possible."""
    host_setting = setting.replace("port", "host")
    try:
        found = await asyncio.get_running_loop().getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except (OSError, UnicodeError) as error:
        raise CannotListen(f"{host_setting}: {host!r} is not a known address or host name{_hint(host_setting)}.") from error
    sockets: list[socket.socket] = []
    for family, kind, protocol, _, address in dict.fromkeys(found):
        try:
            listener = opened.enter_context(socket.socket(family, kind, protocol))
        except OSError:
            continue  # The machine has no IPv6.
        listener.setblocking(False)
        if port:  # With port 0 this option would allow another process to get the same port.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if reuse_port:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        try:
            listener.bind((address[0], _port_of(sockets) if sockets else port, *address[2:]))
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL and len(found) > 1:
                listener.close()
                continue  # For example, localhost has the address ::1, but IPv6 is off.
            raise CannotListen(_why_not(error, host, port, setting, host_setting), error.errno or 0) from error
        sockets.append(listener)
    if not sockets:
        raise CannotListen(f"{host_setting}: {host!r} is not an address of this machine{_hint(host_setting)}.")
    return sockets


def start_listening(listener: socket.socket) -> None:
    """Make the system accept connections on this port from now on. Raises CannotListen if the system refuses."""
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)  # Accepted sockets inherit this option.
        listener.listen(_BACKLOG)
    except OSError as error:  # Two gateways that start at the same time can both reach this line.
        host, port = listener.getsockname()[:2]
        raise CannotListen(_why_not(error, host, port, "port", "host"), error.errno or 0) from error


def hold_new_connections(listener: socket.socket) -> None:
    """Let no client begin a new connection on this port. Connections that clients have begun to open are not affected.

    A client that wants to connect waits, and tries again after a second. At that time the port is closed or belongs to another
    process. On systems other than Linux, and if the system refuses, this function does nothing.
    """
    if not sys.platform.startswith("linux"):
        return
    program = ctypes.create_string_buffer(_DROP_SYN, len(_DROP_SYN))
    with contextlib.suppress(OSError):
        listener.setsockopt(
            socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("HP", len(_DROP_SYN) // 8, ctypes.addressof(program))
        )


def _why_not(error: OSError, host: str, port: int, setting: str, host_setting: str) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"{setting}: {port} on {host} is already in use by another process; choose another port{_hint(setting)}."
    if error.errno == errno.EACCES:
        return f"{setting}: {port} may not be used by this user; choose a port from 1024 on{_hint(setting)}."
    if error.errno == errno.EADDRNOTAVAIL:
        return f"{host_setting}: {host!r} is not an address of this machine{_hint(host_setting)}."
    return f"{host_setting}, {setting}: cannot listen on {host} port {port}: {error.strerror}."


def _hint(setting: str) -> str:
    return f" (--{setting.replace('_', '-')}, DOMOGATE_{setting.upper()})"


def _port_of(sockets: list[socket.socket]) -> int:
    port: int = sockets[0].getsockname()[1]
    return port
