"""The fabric of a cluster: orders, questions and requests for pictures go over NATS to the gateway that drives the plant.

In this module, all three are called requests. Each shard has one NATS subject. A gateway subscribes to the subjects of the
shards that it holds. A request about a plant that this gateway drives does not use NATS. There are three more subjects for
messages without content. A gateway sends a message on the first when it has committed changes. It sends one on the second when
it has joined or left the cluster, or has released shards. It sends one on the third when it has subscribed to shards. Messages
on one more subject say how many HTTP requests a gateway has admitted.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import NoReturn, TypeVar

from nats.aio.msg import Msg
from nats.errors import NoRespondersError

from domogate.common.limited_log import LimitedLog
from domogate.common.log import get_logger
from domogate.common.stalls import StallMeter
from domogate.common.tasks import cancel, wait_for_event
from domogate.domain.commands import Order
from domogate.domain.faults import DeviceOffline, DeviceTimeout, Fault, Internal
from domogate.domain.ids import Id
from domogate.domain.shards import shard_of
from domogate.domain.states import Report
from domogate.fabric.connection import NatsConnection
from domogate.fabric.in_process import InProcessFabric
from domogate.fabric.messages import (
    LONGEST_WAIT,
    Answer,
    Elsewhere,
    Execute,
    NotAMessage,
    Pictured,
    Read,
    Refused,
    Reported,
    Request,
    TakePicture,
    decode_answer,
    decode_request,
    encode,
    refuse,
)
from domogate.fabric.pictures import join_picture, split_picture
from domogate.fabric.subscriptions import ShardSubscriptions, calling, signal
from domogate.ports import Clock, DeviceHost, MessageTrace, NotHeld, Picture

_log = get_logger(__name__)

_MOST_ANSWERING = 10_000
"""The largest number of requests of other gateways that are answered at the same time. Further requests are refused."""
_FIRST_RETRY, _LONGEST_RETRY = 0.02, 0.2
_ASK_AGAIN = 1.0
"""In seconds. If an order or a question has no answer after this time, it is sent again: the message may have been lost."""
_FEED_PAUSE = 0.005
_LAST_ANSWERS = 1.0
"""In seconds. A gateway that releases shards or leaves the cluster still answers earlier requests, but not longer than this."""
_LEEWAY = 0.15
"""In seconds. After the deadline of its request, a gateway waits this much longer for the answer.

The gateway that drives the plant writes the outcome of the order up to 0.1 s after the deadline.
"""
_ENVELOPE = 1_024
"""The number of bytes that a message with a picture keeps free for its other fields."""

T = TypeVar("T")

_NOBODY = "the device is offline: no gateway drives this plant"
_LATE = "the device did not answer in time"
_NOT_VALID = "another gateway sent an answer that is not valid"


class NatsFabric:
    """Carries orders and questions over NATS to the gateway that drives the plant. Implements Fabric."""

    def __init__(
        self,
        connection: NatsConnection,
        clock: Clock,
        cluster: str,
        is_moving: Callable[[int], Awaitable[bool]],
        spread: Callable[[float], Awaitable[None]],
        trace: MessageTrace | None = None,
    ) -> None:
        """`is_moving` is called for a shard if no gateway accepts the requests for this shard.

        It returns whether the shard will soon have another holder. If so, a request waits for the new holder.

        `spread` waits until all gateways know what an order has changed, but not longer than the given number of seconds.
        `trace` is given if the gateway records traces.
        """
        self._connection = connection
        self._clock = clock
        self._prefix = cluster
        self._is_moving = is_moving
        self._spread = spread
        self._trace = trace
        self._local = InProcessFabric(clock)
        self._shards = ShardSubscriptions(connection, cluster, self._on_request)
        self._stalls = StallMeter()
        self._answering: set[asyncio.Task[None]] = set()
        self._feed_timer: asyncio.TimerHandle | None = None
        self._not_valid = LimitedLog(_log, "messages of other gateways are not valid")
        self._not_sent = LimitedLog(_log, "answers not sent to the gateways that asked")
        self.asked = 0
        """The number of requests that this gateway has sent to other gateways since its start."""
        self.answered = 0
        """The number of requests of other gateways that this gateway has begun to answer since its start."""

    def serve(self, host: DeviceHost) -> None:
        self._local.serve(host)

    async def start(self) -> None:
        self._stalls.start()
        await self._connection.start()
        await self._shards.start()

    async def finish(self) -> None:
        """Wait until the requests of other gateways are answered, but only for a short time."""
        if self._answering:
            await asyncio.wait(self._answering, timeout=_LAST_ANSWERS)

    async def stop(self) -> None:
        self._stalls.stop()
        if self._feed_timer is not None:
            self._feed_timer.cancel()
        await self._shards.stop()
        await cancel(*self._answering)
        await self._connection.stop()

    @property
    def is_connected(self) -> bool:
        return self._connection.is_connected

    # shards and signals

    def hold(self, shards: Iterable[int]) -> None:
        """Answer the requests of other gateways for the plants of these shards from now on. Returns at once."""
        self._shards.add(shards)

    def let_go(self, shards: Iterable[int]) -> None:
        """Answer no new requests of other gateways for the plants of these shards. Returns at once."""
        self._shards.remove(shards)

    async def wait_let_go(self) -> None:
        """Wait until no more requests arrive for the shards that were given to `let_go`. Wait only for a short time."""
        await wait_for_event(self._shards.equal, _LAST_ANSWERS)

    async def flush(self) -> None:
        """Wait until the NATS server knows the subscriptions of this gateway.

        If there is no connection, return at once. If the server does not answer, return after a short time.
        """
        with suppress(ConnectionError):
            await self._connection.flush()

    async def on_feed(self, callback: Callable[[], None]) -> None:
        """Call `callback` when a gateway has committed changes, also after commits of this gateway."""
        await self._connection.subscribe(f"{self._prefix}.feed", calling(callback))

    async def on_shards(self, callback: Callable[[], None]) -> None:
        """Call `callback` when a gateway, also this one, has joined the cluster, has left it, or has released shards."""
        await self._connection.subscribe(f"{self._prefix}.shards", calling(callback))

    def on_link(self, callback: Callable[[], None]) -> None:
        """Call `callback` when this gateway has lost its connection to NATS, and when it is connected again."""
        self._connection.on_change = callback

    async def on_usage(self, callback: Callable[[bytes], None]) -> None:
        """Call `callback` with the content of each message about admitted HTTP requests, also of messages of this gateway."""

        async def handle(message: Msg) -> None:
            callback(message.data)

        await self._connection.subscribe(f"{self._prefix}.usage", handle)

    def publish_usage(self, content: bytes) -> None:
        """Tell all gateways how many HTTP requests this gateway has admitted."""
        self._begin(signal(self._connection, f"{self._prefix}.usage", content))

    def publish_feed(self) -> None:
        """Tell the other gateways that this gateway committed changes. Several calls within a short time cause one message."""
        if self._feed_timer is None:
            self._feed_timer = asyncio.get_running_loop().call_later(_FEED_PAUSE, self._send_feed)

    def _send_feed(self) -> None:
        self._feed_timer = None
        self._begin(signal(self._connection, f"{self._prefix}.feed"))

    def publish_shards(self) -> None:
        """Tell the other gateways that this gateway has joined or left the cluster, or has released shards."""
        self._begin(signal(self._connection, f"{self._prefix}.shards"))

    def _begin(self, work: "asyncio.Future[None] | Awaitable[None]") -> None:
        task = asyncio.ensure_future(work)
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    # requests of this gateway

    async def execute(self, order: Order) -> Report:
        def ask(subject: str, left: float) -> Awaitable[Report]:
            request = Execute(order.id, order.plant_id, order.module_id, order.command, order.user_id, left)
            return self._request_report(subject, request)

        return await self._ask(order.plant_id, order.deadline, lambda: self._local.execute(order), ask)

    async def read(self, plant_id: Id, module_id: Id, deadline: float) -> Report:
        def ask(subject: str, left: float) -> Awaitable[Report]:
            return self._request_report(subject, Read(plant_id, module_id, left))

        return await self._ask(plant_id, deadline, lambda: self._local.read(plant_id, module_id, deadline), ask)

    async def take_picture(self, plant_id: Id, module_id: Id, deadline: float) -> Picture:
        def ask(subject: str, left: float) -> Awaitable[Picture]:
            return self._request_picture(subject, TakePicture(plant_id, module_id, left))

        return await self._ask(plant_id, deadline, lambda: self._local.take_picture(plant_id, module_id, deadline), ask)

    async def _ask(
        self,
        plant_id: Id,
        deadline: float,
        ask_here: Callable[[], Awaitable[T]],
        ask_holder: Callable[[str, float], Awaitable[T]],
    ) -> T:
        """Pass a request to the gateway that drives the plant. Call `ask_here` if it is this gateway, otherwise `ask_holder`.

        If the plant is moving to another gateway, wait for that gateway. If there is no answer, ask again: another gateway may
        drive the plant now. An order that arrives twice with the same id is executed once. Raises DeviceTimeout if there
        is no answer until the deadline. Raises DeviceOffline if no gateway drives the plant, or if there is no connection to
        NATS until the deadline.
        """
        shard, pause, refusal = shard_of(plant_id), _FIRST_RETRY, "the device was not asked: the deadline had passed"
        while True:
            moved = self._shards.moved  # Read before the request is sent, so that no new holder is missed.
            try:
                if shard in self._shards.held:
                    return await ask_here()
                left = deadline - self._clock.now()
                if left <= 0:
                    raise DeviceTimeout(refusal)
                if not await self._connection.wait_connected(left):
                    raise DeviceOffline("the device is offline: this gateway has no connection to the gateway that drives it")
                self.asked += 1
                refusal = _LATE
                return await ask_holder(self._shards.subject_of(shard), min(deadline - self._clock.now(), LONGEST_WAIT))
            except (TimeoutError, ConnectionError):
                pass
            except NotAMessage as error:
                self._not_valid.warn(error)
                raise Internal(_NOT_VALID) from None
            except (NoRespondersError, NotHeld):
                if not self._connection.has_just_returned and not await self._is_moving(shard):
                    raise DeviceOffline(_NOBODY) from None
            await wait_for_event(moved, min(pause, deadline - self._clock.now()))
            pause = min(2 * pause, _LONGEST_RETRY)

    async def _request_report(self, subject: str, request: Execute | Read) -> Report:
        seconds = min(request.left + _LEEWAY, _ASK_AGAIN)
        with self._make_span(subject) as headers:
            content = await self._connection.request(subject, encode(request), seconds, headers)
        answer = decode_answer(content)
        if not isinstance(answer, Reported):
            _refuse(answer)
        if (answer.report.plant_id, answer.report.module_id) != (request.plant_id, request.module_id):
            raise NotAMessage("the report is about another module")
        return answer.report

    async def _request_picture(self, subject: str, request: TakePicture) -> Picture:
        """Ask for a picture. If the picture is too large for one message, it comes in several messages."""
        with self._make_span(subject) as headers:
            async with asyncio.timeout(request.left + _LEEWAY), self._connection.open_inbox() as inbox:
                await self._connection.publish(subject, encode(request), inbox.subject, headers)
                answer = decode_answer(await inbox.receive())
                if isinstance(answer, Pictured):
                    return await join_picture(answer, inbox.receive)
        return _refuse(answer)

    def _make_span(self, subject: str) -> AbstractContextManager[dict[str, str] | None]:
        """Return a context manager: it makes a span for a request, and gives headers for the request (None without traces)."""
        return nullcontext() if self._trace is None else self._trace.ask(subject)

    # requests of other gateways

    async def _on_request(self, message: Msg) -> None:
        if not message.reply:
            return  # Nobody waits for the answer.
        received = self._clock.now() - self._stalls.seconds()
        try:
            request = decode_request(message.data)
        except NotAMessage as error:
            self._not_valid.warn(error)
            await self._send(message.reply, refuse(Internal("the request is not valid")))
            return
        if len(self._answering) >= _MOST_ANSWERING:
            await self._send(message.reply, refuse(DeviceTimeout("too many requests of other gateways are waiting")))
        else:
            answering: Awaitable[None] = self._answer(request, message.reply, received)
            if self._trace is not None:
                answering = self._trace.answer(message.subject, message.headers, answering)
            self._begin(answering)

    async def _answer(self, request: Request, reply: str, received: float) -> None:
        self.answered += 1
        try:
            if isinstance(request, TakePicture):
                picture = await self._local.take_picture(request.plant_id, request.module_id, received + request.left)
                first, parts = split_picture(picture, self._connection.max_payload - _ENVELOPE)
                await self._send(reply, first, *parts)
                return
            if isinstance(request, Execute):
                order = request.order(received)
                report = await self._local.execute(order)
                await self._spread(max(0.0, order.deadline - self._clock.now()))
            else:
                report = await self._local.read(request.plant_id, request.module_id, received + request.left)
            await self._send(reply, Reported(report))
        except NotHeld:
            await self._send(reply, Elsewhere())
        except Fault as fault:
            await self._send(reply, refuse(fault))
        except Exception as error:
            _log.error("request of another gateway failed", plant_id=request.plant_id, exc_info=error)
            await self._send(reply, refuse(Internal("the gateway that drives the device failed")))

    async def _send(self, reply: str, answer: Answer, *parts: bytes) -> None:
        try:
            await self._connection.publish(reply, encode(answer))
            for part in parts:
                await self._connection.publish(reply, part)
        except ConnectionError as error:
            self._not_sent.warn(error)


def _refuse(answer: Answer) -> NoReturn:
    if isinstance(answer, Elsewhere):
        raise NotHeld
    raise answer.fault() if isinstance(answer, Refused) else Internal(_NOT_VALID)
