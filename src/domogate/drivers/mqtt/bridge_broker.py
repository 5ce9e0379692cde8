"""Connects bridges to a broker. Each bridge has its own connection, because a connection has only one last will."""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec

from domogate.common.log import get_logger
from domogate.common.tasks import cancel
from domogate.domain.plants import Module
from domogate.drivers.mqtt.broker import MqttBroker
from domogate.drivers.mqtt.broker_connection import BrokerConnection, ConnectionOptions
from domogate.drivers.mqtt.connection import Connection, ConnectionLost
from domogate.drivers.mqtt.packets import FAILURE, words_for
from domogate.ports import BridgeClient

_log = get_logger(__name__)

_LARGEST_PACKET = 32_768
"""Bytes. Larger packets of the broker are skipped."""
_ACKNOWLEDGED_WITHIN = 10.0


class MqttBridgeBroker:
    """Implements BridgeBroker for the broker `broker`.

    `brokers` are all brokers of the settings. `carries` returns True for a module of the driver `mqtt` if the broker of the
    module has the same host and port as `broker`.
    """

    def __init__(self, broker: MqttBroker, brokers: Sequence[MqttBroker]) -> None:
        # The driver uses the client id. A second connection with the same id would end the connection of the driver.
        self._broker = msgspec.structs.replace(broker, client_id=None)
        self._same = {one.name for one in brokers if (one.host, one.port) == (broker.host, broker.port)}
        self._default = brokers[0].name if len(brokers) == 1 else "main"

    @property
    def name(self) -> str:
        return self._broker.name

    def carries(self, module: Module) -> bool:
        return module.driver == "mqtt" and module.options.get("broker", self._default) in self._same

    async def run(self, client: BridgeClient) -> None:
        async def serve(connection: Connection) -> None:
            work = asyncio.create_task(client.serve(_Served(connection, self.name)), name=f"bridge at {self.name}")
            try:
                waiting: list[asyncio.Future[Any]] = [work, connection.lost]
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                if work.done():
                    work.result()
            finally:
                await cancel(work)

        options = ConnectionOptions(
            lambda topic, payload: client.receive(topic.decode(errors="replace"), payload, retained=False),
            lambda topic, payload: client.receive(topic.decode(errors="replace"), payload, retained=True),
            client.will,
            _LARGEST_PACKET,
        )
        # A bridge has no modules to report as absent.
        await BrokerConnection(self._broker, options, serve=serve, lost=lambda *_: None).run()


class _Served:
    """An open connection of a bridge to its broker. Implements BridgeConnection."""

    def __init__(self, connection: Connection, broker: str) -> None:
        self._connection = connection
        self._broker = broker

    async def publish(self, topic: str, payload: bytes, *, retain: bool) -> None:
        connection = self._connection
        await connection.wait_writable()
        ack = connection.publish(topic, payload, retain=retain)
        await asyncio.wait((ack,), timeout=_ACKNOWLEDGED_WITHIN)
        if not ack.done():
            raise ConnectionLost("the broker did not acknowledge a message")
        reason = ack.result()[0]
        if reason >= FAILURE:
            _log.warning("message refused", broker=self._broker, topic=topic, why=words_for(reason))

    async def subscribe(self, *filters: str) -> None:
        reasons = await self._connection.subscribe([(one, 1) for one in filters])
        for one, reason in zip(filters, reasons, strict=True):
            if reason >= FAILURE:
                _log.warning("subscription refused", broker=self._broker, topic=one, why=words_for(reason))

    async def unsubscribe(self, *filters: str) -> None:
        await self._connection.unsubscribe(filters)
