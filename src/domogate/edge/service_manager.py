"""Works with the service manager, which is usually systemd: takes the ports that it opened, and sends messages to it.

The protocols are those of sd_listen_fds(3) and sd_notify(3). Without a service manager, nothing here has an effect.
"""

import contextlib
import os
import socket

from domogate.edge.listening import CannotListen, ManagedSocket

_FIRST = 3
"""The number of the first file descriptor that the service manager passes."""
_MOST = 16
"""The largest number of ports that is accepted. Nobody needs more ports, and each port is an open file."""


def take_sockets() -> tuple[ManagedSocket, ...]:
    """Return the ports that the service manager opened for this process. A second call returns nothing.

    Raises CannotListen if one of them is not a TCP port that listens, or if there are more than `_MOST`.
    """
    given = {name: os.environ.pop(name, "") for name in ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES")}
    if given["LISTEN_PID"] != str(os.getpid()):  # The ports are for another process, which started this one.
        return ()
    count = given["LISTEN_FDS"]
    if not (count.isascii() and count.isdigit() and int(count) <= _MOST):
        raise CannotListen(f"LISTEN_FDS: a number up to {_MOST} is allowed, and it is {count!r}; look at the socket unit.")
    return tuple(_take(number) for number in range(_FIRST, _FIRST + int(count)))


def _take(number: int) -> ManagedSocket:
    try:
        listener = ManagedSocket(fileno=number)
        listens = bool(listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
    except OSError as error:
        raise CannotListen(f"the file descriptor {number} of the socket unit is not a socket: {error.strerror}.") from error
    if not listens or listener.family not in (socket.AF_INET, socket.AF_INET6) or listener.type != socket.SOCK_STREAM:
        raise CannotListen("the socket unit must have only ListenStream= lines with an address and a port, and Accept=no.")
    listener.set_inheritable(False)
    listener.setblocking(False)
    return listener


def tell(message: str) -> None:
    """Send a message such as READY=1 to the service manager. Without a service manager, do nothing."""
    path = os.environ.get("NOTIFY_SOCKET", "")
    if not path.startswith(("/", "@")):
        return
    address = f"\0{path[1:]}" if path.startswith("@") else path
    # A lost message must not stop the gateway: the service manager notices it itself, by its time limit for the start.
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.settimeout(1)
        sender.sendto(message.encode(), address)
