"""The port for brokers to which bridges publish."""

from typing import Protocol

from domogate.domain.plants import Module


class BridgeConnection(Protocol):
    """An open connection to a broker. If the connection is lost, all methods raise an error that ends `BridgeClient.serve`."""

    async def publish(self, topic: str, payload: bytes, *, retain: bool) -> None:
        """Publish the message, and wait until the broker has it. An empty retained message removes the retained message of the
        topic.
        """
        ...

    async def subscribe(self, *filters: str) -> None:
        """Subscribe to the topic filters, and wait until the broker has answered. Refused filters are logged."""
        ...

    async def unsubscribe(self, *filters: str) -> None: ...


class BridgeClient(Protocol):
    """A bridge. `BridgeBroker.run` keeps a connection to the broker for it, and calls its methods."""

    @property
    def will(self) -> tuple[str, bytes] | None:
        """The topic and payload of the retained message that the broker publishes when it loses the connection."""
        ...

    async def serve(self, connection: BridgeConnection) -> None:
        """Use a new connection until it is lost.

        When it is lost, its error ends this method, or `BridgeBroker.run` cancels this method.
        """
        ...

    def receive(self, topic: str, payload: bytes, *, retained: bool) -> None:
        """Take a message of a subscribed topic. This method must return fast."""
        ...


class BridgeBroker(Protocol):
    """A broker to which bridges publish."""

    @property
    def name(self) -> str: ...

    def carries(self, module: Module) -> bool:
        """Whether the module is driven through this broker. Such a module is not published to the broker again."""
        ...

    async def run(self, client: BridgeClient) -> None:
        """Keep a connection for the client until this method is cancelled. Connect again after a loss."""
        ...
