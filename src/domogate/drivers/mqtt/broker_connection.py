"""Keeps one connection to one broker open. It reconnects after a loss, and reports the reason of each loss."""

import asyncio
import os
import re
import socket
import ssl
import uuid
from collections.abc import Awaitable, Callable

import msgspec

from domogate.common.log import get_logger
from domogate.domain.reachability import AbsenceReason
from domogate.drivers.backoff import Backoff
from domogate.drivers.mqtt.broker import MqttBroker
from domogate.drivers.mqtt.connection import BrokerRefused, Connection, ConnectionLost, Deliver
from domogate.drivers.mqtt.packets import V5, V311

_log = get_logger(__name__)

LARGEST_PACKET = 262_144
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 5.0
"""The first and the longest pause between two attempts to connect, in seconds, before `Backoff` applies its random factor."""
CONNECT_WITHIN = 10.0
_UNSUPPORTED_VERSION = 0x84
_ERROR_NUMBER = re.compile(r"\[Errno (\d+)\]")

Serve = Callable[[Connection], Awaitable[None]]
Lost = Callable[[AbsenceReason, str], None]


class ConnectionOptions(msgspec.Struct, frozen=True):
    """The options of a connection to a broker."""

    deliver: Deliver
    """Called with the topic and the payload of each message."""
    deliver_retained: Deliver | None = None
    """Gets the messages that are marked as retained. If it is None, `deliver` gets them too."""
    will: tuple[str, bytes] | None = None
    """The topic and the payload of the last will."""
    largest_packet: int = LARGEST_PACKET


class BrokerConnection:
    """Keeps the connection to a broker open. `serve` is called with each connection and returns when the connection is lost.

    `lost` is called with the reason of each loss and of each failed attempt to connect.
    """

    def __init__(self, broker: MqttBroker, options: ConnectionOptions, *, serve: Serve, lost: Lost) -> None:
        self.broker = broker
        self._options = options
        self._serve = serve
        self._lost = lost
        self._client_id = broker.client_id or f"domogate-{uuid.uuid4().hex[:16]}"
        self._last_problem = ""

    async def run(self) -> None:
        """Keep the connection open until this method is cancelled.

        An error of a broker or of the network does not end this method.
        """
        loop, backoff = asyncio.get_running_loop(), Backoff()
        while True:
            try:
                connection = await open_connection(self.broker, self._client_id, self._options)
            except BrokerRefused as refused:
                self._report_lost(AbsenceReason.REFUSED, f"the broker refused the gateway: {refused}")
            except (ConnectionLost, OSError, TimeoutError, UnicodeError) as error:
                self._report_lost(AbsenceReason.CONNECTION_LOST, explain_error(error))
            else:
                version = "5.0" if connection.version == V5 else "3.1.1"
                _log.info("connected", broker=self.broker.name, url=self.broker.url, mqtt=version)
                self._last_problem, begun = "", loop.time()
                try:
                    await self._serve(connection)
                except ConnectionLost:
                    pass  # `connection.lost` has the reason.
                finally:
                    connection.close()
                backoff.connection_ended(loop.time() - begun)
                self._report_lost(AbsenceReason.CONNECTION_LOST, connection.lost.result())
            await asyncio.sleep(backoff.next_pause(FIRST_PAUSE, LONGEST_PAUSE))

    def _report_lost(self, why: AbsenceReason, words: str) -> None:
        if words != self._last_problem:
            _log.warning("no connection", broker=self.broker.name, url=self.broker.url, why=words)
            self._last_problem = words
        self._lost(why, f"{self.broker.url}: {words}")


async def open_connection(broker: MqttBroker, client_id: str, options: ConnectionOptions) -> Connection:
    """Connect and log in with MQTT 5, or with MQTT 3.1.1 if the broker does not support MQTT 5.

    MQTT 3.1.1 is also tried if the broker closes the connection. Some old brokers do so when they get MQTT 5. A broker that is
    starting may do so too. So the next call begins with MQTT 5 again.

    Raises BrokerRefused, ConnectionLost, OSError or TimeoutError if this fails. Raises OSError or UnicodeError if the password
    file cannot be read.
    """
    try:
        return await _open(broker, client_id, V5, options)
    except ConnectionLost:
        pass  # Some old brokers close the connection if they do not know the version.
    except BrokerRefused as refused:
        if refused.reason != _UNSUPPORTED_VERSION:
            raise
    return await _open(broker, client_id, V311, options)


async def _open(broker: MqttBroker, client_id: str, version: int, options: ConnectionOptions) -> Connection:
    password = broker.read_password()
    context = _tls_context(broker) if broker.tls else None
    async with asyncio.timeout(CONNECT_WITHIN):
        _, connection = await asyncio.get_running_loop().create_connection(
            lambda: Connection(
                options.deliver,
                version=version,
                keepalive=broker.keepalive,
                largest_packet=options.largest_packet,
                deliver_retained=options.deliver_retained,
            ),
            broker.host,
            broker.port,
            ssl=context,
        )
        try:
            await connection.log_in(client_id, broker.username, password, options.will)
        except BaseException:
            connection.close()
            raise
    return connection


def _tls_context(broker: MqttBroker) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=broker.ca_file)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if broker.client_certificate is not None:
        context.load_cert_chain(broker.client_certificate, broker.client_key)
    return context


def explain_error(error: Exception) -> str:
    """Return a text that says why a broker cannot be used. The text has no error numbers."""
    if isinstance(error, TimeoutError) and not str(error):
        return f"no answer within {CONNECT_WITHIN:g} seconds"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, ssl.SSLError) and error.reason:
        return f"TLS failed: {error.reason.replace('_', ' ').lower()}"
    if isinstance(error, socket.gaierror) and error.strerror:
        return error.strerror
    if numbers := _ERROR_NUMBER.findall(str(error)):  # The error has one number for each tried address of the broker.
        return ", ".join(dict.fromkeys(os.strerror(int(number)) for number in numbers))
    return str(error) or type(error).__name__
