"""One connection to an OpenWebNet gateway: first the login, then frames (OpenWebNet, introduction).

In the login, the client proves that it knows the password. With HMAC, the OpenWebNet gateway proves it too.
"""

import asyncio
import socket
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from enum import IntEnum

from domogate.drivers.openwebnet.frames import ACK, NACK, Ack, Challenge, Frame, FrameReader, Nack, Proof, Signal
from domogate.drivers.openwebnet.gateways import OpenWebNetGateway
from domogate.drivers.openwebnet.passwords import Algorithm, answer_open, is_same

TIMEOUT = 5.0
"""Seconds for all steps of opening a session."""

_CHUNK = 8192


class SessionKind(IntEnum):
    """The kind of a session: the number in `*99*N##`."""

    COMMAND = 0
    EVENT = 1


class SessionLost(Exception):
    """The session could not be opened or was lost. The caller may open a new session. The message says why."""


class SessionRefused(Exception):
    """The login failed because of the password. Wait before the next attempt. The message says why.

    For example, no usable password is set, the OpenWebNet gateway refused the password, or its own proof was wrong.
    """


class Session:
    """An open session with an OpenWebNet gateway. Only one task may read from it at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, name: str) -> None:
        self._reader = reader
        self._writer = writer
        self._frames = FrameReader()
        self._ahead: deque[Frame] = deque()
        self.name = name

    @property
    def is_open(self) -> bool:
        return not (self._reader.at_eof() or self._writer.is_closing() or self._reader.exception() is not None)

    @property
    def unreadable(self) -> int:
        """The number of frames that could not be read since the session was opened."""
        return self._frames.unreadable

    def write(self, frame: Frame) -> None:
        """Write the whole frame without waiting."""
        self._writer.write(frame.to_frame().encode())

    async def read(self) -> Frame:
        """Return the next frame. Raises SessionLost."""
        while not self._ahead:
            self._ahead.extend(await self._read_some())
        return self._ahead.popleft()

    async def read_all(self) -> Sequence[Frame]:
        """Return all frames that have arrived, at least one. Raises SessionLost."""
        while not self._ahead:
            self._ahead.extend(await self._read_some())
        frames = tuple(self._ahead)
        self._ahead.clear()
        return frames

    async def _read_some(self) -> Sequence[Frame]:
        try:
            data = await self._reader.read(_CHUNK)
        except OSError as error:
            raise SessionLost(f"{self.name}: {_words(error)}") from error
        if not data:
            raise SessionLost(f"{self.name} closed the connection")
        return tuple(self._frames.feed(data))

    def abandon(self) -> None:
        """Close the connection without waiting."""
        self._writer.close()

    async def close(self) -> None:
        self._writer.close()
        with suppress(OSError, TimeoutError):
            await asyncio.wait_for(self._writer.wait_closed(), 1.0)


async def open_session(gateway: OpenWebNetGateway, kind: SessionKind) -> Session:
    """Connect and log in, in at most TIMEOUT seconds. Raises SessionLost or SessionRefused if this fails."""
    try:
        async with asyncio.timeout(TIMEOUT):
            return await _open(gateway, kind)
    except TimeoutError as error:
        raise SessionLost(f"{gateway.address} did not open a session within {TIMEOUT:g} s") from error


async def _open(gateway: OpenWebNetGateway, kind: SessionKind) -> Session:
    try:
        reader, writer = await asyncio.open_connection(gateway.host, gateway.port)
    except (OSError, UnicodeError) as error:  # UnicodeError: the host cannot be encoded for the resolver.
        raise SessionLost(f"{gateway.address}: {_words(error)}") from error
    session = Session(reader, writer, gateway.address)
    try:
        _keep_alive(writer)
        await _negotiate(session, kind, gateway)
    except BaseException:
        session.abandon()
        raise
    return session


async def _negotiate(session: Session, kind: SessionKind, gateway: OpenWebNetGateway) -> None:
    if not isinstance(await session.read(), Ack):
        raise SessionLost(f"{session.name} does not answer like an OpenWebNet gateway")
    session.write(Signal(99, kind))
    match await session.read():
        case Ack():
            return  # The gateway accepts the address of this machine without a password.
        case Nack():
            raise SessionLost(f"{session.name} refused to open a session (NACK): too many sessions may be open")
        case Challenge(nonce):
            await _prove_open(session, _need_password(gateway), nonce)
        case Signal(98, number) if number in tuple(Algorithm):
            await _prove_hmac(session, _need_password(gateway), Algorithm(number))
        case Signal(98, number):
            session.write(NACK)
            raise SessionRefused(f"{session.name} wants the unknown password proof number {number}")
        case frame:
            raise SessionLost(f"{session.name} did not open a session, it sent {frame.to_frame()}")


def _need_password(gateway: OpenWebNetGateway) -> str:
    try:
        password = gateway.read_password()
    except ValueError as error:
        raise SessionRefused(str(error)) from error
    if password is None:
        raise SessionRefused(f"{gateway.address} wants a password, and no password is set")
    return password


async def _prove_open(session: Session, password: str, nonce: str) -> None:
    try:
        answer = answer_open(password, nonce)
    except ValueError as error:
        raise SessionRefused(f"{session.name}: {error}") from error
    session.write(Challenge(answer))
    if not isinstance(await _read_result(session), Ack):
        raise _wrong_password(session)


async def _prove_hmac(session: Session, password: str, algorithm: Algorithm) -> None:
    session.write(ACK)
    challenge = await session.read()
    if not isinstance(challenge, Challenge):
        raise SessionLost(f"{session.name} did not send a challenge, it sent {challenge.to_frame()}")
    nonce = algorithm.make_nonce()
    try:
        proof = algorithm.prove_as_client(challenge.digits, nonce, password)
        expected = algorithm.prove_as_gateway(challenge.digits, nonce, password)
    except ValueError as error:
        raise SessionLost(f"{session.name} sent a challenge that is {error}") from error
    session.write(Proof(nonce, proof))
    result = await _read_result(session)
    if not isinstance(result, Challenge):
        raise _wrong_password(session)
    if not is_same(result.digits, expected):
        session.write(NACK)
        raise SessionRefused(f"{session.name} could not prove that it knows the password")
    session.write(ACK)


async def _read_result(session: Session) -> Frame:
    """Return the answer of the OpenWebNet gateway to our proof of the password.

    An OpenWebNet gateway that refuses the proof may send NACK or close the connection (OpenWebNet, HMAC authentication). In
    both cases the result is NACK.
    """
    try:
        return await session.read()
    except SessionLost:
        return NACK


def _wrong_password(session: Session) -> SessionRefused:
    return SessionRefused(f"{session.name} refused the password")


def _keep_alive(writer: asyncio.StreamWriter) -> None:
    """Switch on TCP keep-alive, so that the system notices an unplugged OpenWebNet gateway. A bus may be silent for hours."""
    connection = writer.get_extra_info("socket")
    if connection is None:
        return
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


def _words(error: OSError | UnicodeError) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
