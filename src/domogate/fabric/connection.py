"""The connection of this gateway to the NATS servers. A lost connection is opened again, with growing pauses.

By default, the client library keeps messages while it is not connected, and sends them later. But an order must not be sent
late. So the library is configured to keep no messages, and not to connect again by itself.
"""

import asyncio
import itertools
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from math import inf
from pathlib import Path
from random import SystemRandom
from typing import Any, cast
from urllib.parse import urlsplit

import msgspec
import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error, NoRespondersError

from domogate.common.log import get_logger
from domogate.common.tasks import bounded, cancel, wait_for_event
from domogate.fabric.client import CorrectedClient

_log = get_logger(__name__)

_CONNECT_SECONDS = 2
_UNSUBSCRIBE_SECONDS = 2.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0
_PING_SECONDS, _MISSED_PINGS = 1, 3
"""The seconds between two pings, and the number of pings without an answer after which the connection counts as lost."""
_MOST_WAITING, _MOST_WAITING_BYTES = 65_536, 8 << 20
"""How many messages of one NATS subject may wait for their handler, and how many bytes. Further messages are lost."""
_NO_RESPONDERS = "503"
_RETURN_SECONDS = 5.0
"""When the NATS servers run again, each gateway connects within this time (the longest pause and one attempt)."""

_jitter = SystemRandom().uniform

Handler = Callable[[Msg], Awaitable[None]]


class NatsAccess(msgspec.Struct, frozen=True, kw_only=True):
    """The URLs of the NATS servers, and the credentials with which this gateway proves its identity."""

    servers: tuple[str, ...]
    user: str | None = None
    password: str | None = None
    token: str | None = None
    nkey: str | None = None
    credentials: Path | None = None
    tls_ca: Path | None = None
    tls_certificate: Path | None = None
    tls_key: Path | None = None

    def build_tls(self) -> ssl.SSLContext | None:
        """Return the TLS configuration, or None if the connection is not encrypted."""
        if self.tls_ca is None and self.tls_certificate is None and not any(url.startswith("tls:") for url in self.servers):
            return None
        context = ssl.create_default_context(cafile=self.tls_ca)
        if self.tls_certificate is not None:
            context.load_cert_chain(self.tls_certificate, self.tls_key)
        return context


class Inbox:
    """A NATS subject that only this gateway knows, and the messages that arrive there."""

    def __init__(self, subject: str, messages: Subscription) -> None:
        self.subject = subject
        self._messages = messages

    async def receive(self) -> bytes:
        """Wait for the next message.

        Raises ConnectionError if the connection is lost. Raises NoRespondersError if this gateway expects an answer here, but
        nobody is subscribed to the subject of its request.
        """
        try:
            message = await self._messages.next_msg(None)
        except Error as error:
            raise ConnectionError(str(error)) from error
        if message.headers is not None and message.headers.get("Status") == _NO_RESPONDERS:
            raise NoRespondersError
        return message.data


class NatsConnection:
    """Keeps one connection to NATS open, with its subscriptions."""

    def __init__(self, access: NatsAccess, name: str) -> None:
        self._access = access
        self._name = name
        self._tls = access.build_tls()
        self._client: Client | None = None
        self._handlers: dict[str, Handler] = {}
        self._subscriptions: dict[str, Subscription] = {}
        self._lost = asyncio.Event()
        self._connected = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._returned_at = -inf
        self.problem = "the gateway has not connected to NATS yet"
        """The reason why there is no connection. It is empty while there is a connection."""
        self.server = ""
        """The address of the last connected server, without credentials."""
        self.on_change: Callable[[], None] = lambda: None
        """Called when a connection was opened, and when it was lost."""

    @property
    def is_connected(self) -> bool:
        return self._client is not None and self._client.is_connected

    @property
    def has_just_returned(self) -> bool:
        """True for some seconds after a lost connection was opened again: other gateways may not be connected yet."""
        return time.monotonic() - self._returned_at < _RETURN_SECONDS

    @property
    def max_payload(self) -> int:
        return 0 if self._client is None else self._client.max_payload

    async def start(self) -> None:
        """Connect in the background, and wait until the first attempt has ended."""
        attempted = asyncio.Event()
        self._task = asyncio.create_task(self._keep_connected(attempted), name="connection to NATS")
        await attempted.wait()

    async def stop(self) -> None:
        await cancel(self._task)
        await self._disconnect()

    async def wait_connected(self, seconds: float) -> bool:
        """Wait for a connection. Return False if there is no connection after this number of seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, seconds)):
                while not self.is_connected:
                    self._connected.clear()  # The connection may be lost before `_keep_connected` has noticed it.
                    await self._connected.wait()
        return self.is_connected

    # subscriptions and messages

    async def subscribe(self, subject: str, handler: Handler) -> None:
        """Call the handler for each message of this subject, on the present connection and on later connections.

        The handler must return at once.
        """
        self._handlers[subject] = handler
        client, subscriptions = self._client, self._subscriptions
        if client is not None and subject not in subscriptions:
            with suppress(Error):  # The connection was lost. The next connection gets all subscriptions.
                subscriptions[subject] = await self._subscribe(client, subject, handler)

    async def unsubscribe(self, subject: str) -> None:
        """End the subscription of this subject. Messages that have already arrived are still handled.

        If the server does not confirm the end in time, return without the confirmation.
        """
        self._handlers.pop(subject, None)
        subscription = self._subscriptions.pop(subject, None)
        if subscription is not None and self.is_connected:
            with suppress(Error, TimeoutError):  # The connection was lost or hangs. The subscription ends with it.
                await bounded(_UNSUBSCRIBE_SECONDS, cast(Any, subscription).drain())  # The library has no types for `drain`.

    async def publish(self, subject: str, content: bytes = b"", reply: str = "", headers: dict[str, str] | None = None) -> None:
        """Send a message. Raises ConnectionError if there is no connection; then nothing is sent."""
        try:
            await self._require().publish(subject, content, reply, headers)
        except (Error, OSError) as error:
            raise ConnectionError(str(error)) from error

    async def request(self, subject: str, content: bytes, seconds: float, headers: dict[str, str] | None = None) -> bytes:
        """Send a message and return the answer.

        Raises NoRespondersError if nobody is subscribed to the subject. Raises TimeoutError if there is no answer after this
        number of seconds. Raises ConnectionError if there is no connection.
        """
        client = self._require()
        try:
            return (await client.request(subject, content, timeout=seconds, headers=headers)).data
        except NoRespondersError:
            raise
        except nats.errors.TimeoutError:
            raise TimeoutError from None
        except (Error, OSError) as error:
            raise ConnectionError(str(error)) from error

    @asynccontextmanager
    async def open_inbox(self) -> AsyncIterator["Inbox"]:
        """Open a new NATS subject on which several answers can arrive. Raises ConnectionError if there is no connection."""
        client = self._require()
        subject = client.new_inbox()
        try:
            messages = await self._subscribe(client, subject)
        except Error as error:
            raise ConnectionError(str(error)) from error
        try:
            yield Inbox(subject, messages)
        finally:
            if client.is_connected:
                with suppress(Error):  # The connection was lost, and the subscription with it.
                    await messages.unsubscribe()

    @staticmethod
    async def _subscribe(client: Client, subject: str, handler: Handler | None = None) -> Subscription:
        return await client.subscribe(
            subject, cb=handler, pending_msgs_limit=_MOST_WAITING, pending_bytes_limit=_MOST_WAITING_BYTES
        )

    async def flush(self) -> None:
        """Wait until the server has received all messages and subscriptions.

        Raises ConnectionError if there is no connection, or if the server does not answer in time.
        """
        try:
            await self._require().flush(_CONNECT_SECONDS)
        except Error as error:
            raise ConnectionError(str(error)) from error

    def _require(self) -> Client:
        if self._client is None or not self._client.is_connected:
            raise ConnectionError(self.problem or "the connection to NATS was lost")
        return self._client

    # the connection

    async def _keep_connected(self, attempted: asyncio.Event) -> None:
        pause, was_lost = _FIRST_PAUSE, False
        for server in itertools.cycle(self._access.servers):
            self._lost.clear()
            try:
                await self._connect(server)
            except Exception as error:
                self._note_problem(server, error)
                attempted.set()
                await asyncio.sleep(pause * _jitter(0.5, 1.0))
                pause = min(2 * pause, _LONGEST_PAUSE)
            else:
                attempted.set()
                pause = _FIRST_PAUSE
                if was_lost:
                    self._returned_at = time.monotonic()
                self.on_change()
                await self._wait_until_lost()
                self.on_change()
                self._note_problem(server, "the connection was lost")
                was_lost = True
                await self._disconnect()

    async def _wait_until_lost(self) -> None:
        # The library can hang while it closes a connection on which no data pass. Then it does not call `_on_closed`.
        while self.is_connected:
            self._lost.clear()  # An earlier connection may have set it, if the library closed that connection late.
            await wait_for_event(self._lost, _PING_SECONDS)

    async def _connect(self, server: str) -> None:
        access = self._access
        options: dict[str, Any] = {
            "user": access.user,
            "password": access.password,
            "token": access.token,
            "nkeys_seed_str": access.nkey,
            "user_credentials": None if access.credentials is None else str(access.credentials),
            "tls": self._tls,
        }
        client = CorrectedClient()
        try:
            await self._open(client, server, {name: value for name, value in options.items() if value is not None})
            subscriptions = await self._subscribe_all(client)
        except BaseException:
            await _close(client)
            raise
        self._client, self._subscriptions = client, subscriptions
        self.server = _without_credentials(server)
        self.problem = ""
        self._connected.set()
        _log.info("connected to NATS", server=self.server)

    async def _open(self, client: Client, server: str, options: dict[str, Any]) -> None:
        async with asyncio.timeout(_CONNECT_SECONDS):
            await client.connect(
                server,
                name=self._name,
                allow_reconnect=False,
                max_reconnect_attempts=1,
                reconnect_time_wait=0,
                pending_size=0,
                ping_interval=_PING_SECONDS,
                max_outstanding_pings=_MISSED_PINGS,
                connect_timeout=_CONNECT_SECONDS,
                error_cb=self._on_error,
                closed_cb=self._on_closed,
                **options,
            )

    async def _subscribe_all(self, client: Client) -> dict[str, Subscription]:
        """Subscribe to all subjects that have a handler, and wait until the server knows the subscriptions."""
        subscriptions: dict[str, Subscription] = {}
        # Other tasks may add and remove handlers while this method waits. So this method compares again after each wait.
        while subscriptions.keys() != self._handlers.keys():
            for subject in subscriptions.keys() - self._handlers.keys():
                await subscriptions.pop(subject).unsubscribe()
            for subject, handler in tuple(self._handlers.items()):
                if subject not in subscriptions:
                    subscriptions[subject] = await self._subscribe(client, subject, handler)
            await client.flush(_CONNECT_SECONDS)
        return subscriptions

    async def _disconnect(self) -> None:
        client, self._client = self._client, None
        self._connected.clear()
        self._subscriptions = {}
        if client is not None:
            await _close(client)

    def _note_problem(self, server: str, problem: object) -> None:
        words = str(problem) or type(problem).__name__
        if words != self.problem:
            _log.warning("no connection to NATS; will retry", server=_without_credentials(server), reason=words)
        self.problem = words

    async def _on_error(self, error: Exception) -> None:
        _log.debug("NATS", reason=str(error))

    async def _on_closed(self) -> None:
        self._lost.set()


async def _close(client: Client) -> None:
    try:
        async with asyncio.timeout(_CONNECT_SECONDS):
            await client.close()
    except Exception as error:
        _log.debug("connection to NATS not closed", reason=str(error))


def _without_credentials(server: str) -> str:
    return urlsplit(server).netloc.rpartition("@")[2]
