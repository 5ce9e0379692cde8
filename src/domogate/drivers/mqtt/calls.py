"""Orders, reads and pictures of a module. A request is sent once, before its deadline. Then the caller waits for an answer."""

import asyncio
import math
from collections.abc import Awaitable, Iterable
from contextlib import suppress

from domogate.domain.commands import Order, SetLight
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import CommandNotSupported, DeviceOffline, DeviceRefused, DeviceTimeout
from domogate.domain.states import Report
from domogate.drivers.mqtt import lights
from domogate.drivers.mqtt.broker_session import BrokerSession
from domogate.drivers.mqtt.connection import ConnectionLost
from domogate.drivers.mqtt.kinds import properties_for, with_function
from domogate.drivers.mqtt.module import DrivenModule, PendingCall
from domogate.drivers.mqtt.packets import FAILURE, NO_MATCHING_SUBSCRIBERS, words_for
from domogate.drivers.mqtt.properties import Properties, Publication, Unsupported
from domogate.ports import Picture

FRESH_FOR = 60.0
"""In seconds. If the last message about the state is at most this old, a read returns the known state without asking.

But a read sends a request if an earlier request is unanswered. It also sends one if the clock was set back by more than this
time.
"""


async def execute(session: BrokerSession, module: DrivenModule, order: Order) -> Report:
    preset = None
    try:
        if isinstance(order.command, SetLight) and module.kind is DeviceKind.LIGHT:
            await _wait_until_reachable(session, module, order.deadline)
            if lights.needs_report(module, order.command):
                await _ask(session, module, order.deadline)
            wanted, preset = lights.plan_light(module, order.command)
            publications = module.codec.encode(wanted) if wanted else ()
        else:
            wanted = properties_for(module.kind, order.command, module.codec.always)
            publications = module.codec.encode(with_function(wanted, module.state, module.codec))
            await _wait_until_reachable(session, module, order.deadline)
    except Unsupported as unsupported:
        raise CommandNotSupported(str(unsupported)) from None
    if publications:
        by_broker = module.codec.confirmed_by_broker
        await _call(session, module, wanted, publications, order.deadline, by_broker=by_broker)
    if preset is not None:
        module.set_preset(preset)
    return module.report(session.clock.now())


async def read(session: BrokerSession, module: DrivenModule, deadline: float) -> Report:
    await _wait_until_known(session, module, deadline)
    now = session.clock.now()
    requests = module.codec.encode_read()
    fresh = module.received_at is not None and abs(now - module.received_at) < FRESH_FOR and not module.unanswered
    if module.absence is not None or (module.state is not None and (fresh or not requests)):
        return module.report(now)
    await _ask(session, module, deadline)
    return module.report(session.clock.now())


async def _ask(session: BrokerSession, module: DrivenModule, deadline: float) -> None:
    requests = module.codec.encode_read()
    if not requests:
        raise DeviceTimeout("the device has not reported anything yet, and cannot be asked")
    await _call(session, module, Properties(), requests, deadline, by_broker=False)


async def take_picture(session: BrokerSession, module: DrivenModule, deadline: float) -> Picture:
    pictures = module.pictures
    if pictures is None:
        raise DeviceRefused("the module's options do not name the topic of its pictures")
    await _wait_until_known(session, module, deadline)
    while True:
        _check_reachable(module)
        if not pictures.is_on:
            raise DeviceRefused("the camera is off")
        if (newest := pictures.find_newest()) is not None:
            return newest
        await _in_time(session, pictures.changed.wait(), deadline, "the camera gave no picture in time")


async def _wait_until_reachable(session: BrokerSession, module: DrivenModule, deadline: float) -> None:
    await _wait_until_known(session, module, deadline)
    _check_reachable(module)


def _check_reachable(module: DrivenModule) -> None:
    if module.removed:
        raise DeviceOffline("the module is no longer driven")
    if (absence := module.absence) is not None:
        raise DeviceOffline(f"the device cannot be reached ({absence.why}): {absence.evidence}")


async def _wait_until_known(session: BrokerSession, module: DrivenModule, deadline: float) -> None:
    """Wait until it is known whether the broker can be reached. Only a call just after the module was attached has to wait.

    Raises DeviceTimeout after the deadline, and DeviceOffline if the module is no longer driven.
    """
    while module.subscribed_since is None and module.absence is None and not module.removed:
        await _in_time(session, session.reachability.wait(), deadline, "the broker was not reached in time")
    if module.removed:
        raise DeviceOffline("the module is no longer driven")


async def _call(
    session: BrokerSession,
    module: DrivenModule,
    wanted: Properties,
    publications: Iterable[Publication],
    deadline: float,
    *,
    by_broker: bool,
) -> None:
    with session.urgent(module), module.expect(wanted) as call:
        acks = []
        for publication in publications:
            acks.append(await publish(session, publication, call, deadline))
            module.unanswered = True  # Set after the first message, because a later message may fail.
        if by_broker:
            # If the connection is lost, nothing confirms the order. It ends at its deadline, with DeviceTimeout.
            with suppress(ConnectionLost):
                await _in_time(session, asyncio.gather(*acks), deadline, "the broker did not acknowledge it")
                call.end()
        await wait_answer(session, call, deadline)
        module.unanswered = False


async def wait_answer(session: BrokerSession, call: PendingCall, deadline: float) -> None:
    """Wait for the answer until the deadline. Raises DeviceTimeout, or the fault with which the call ended.

    An answer that arrived in time counts, even if the gateway was too busy to read it in time.
    """
    await asyncio.wait((call.answered,), timeout=max(0.0, deadline - session.clock.now()))
    if not call.answered.done():
        raise DeviceTimeout("the device did not confirm in time")
    call.answered.result()


async def publish(
    session: BrokerSession, publication: Publication, call: PendingCall, deadline: float
) -> "asyncio.Future[bytes]":
    connection = session.connection
    if connection is None:
        raise DeviceOffline("the connection to the broker is lost")
    await _in_time(session, connection.wait_writable(), deadline, "the broker does not accept messages")
    remaining = deadline - session.clock.now()
    if remaining <= 0:
        raise DeviceTimeout("the order was not sent, because its deadline has passed")
    try:
        # In whole seconds. With 0, some brokers never expire a message (Decision 0038).
        ack = connection.publish(publication.topic, publication.payload, max(1, math.floor(remaining)))
    except ConnectionLost as lost:
        raise DeviceOffline(f"the connection to the broker is lost: {lost}") from None
    ack.add_done_callback(lambda done: _handle_ack(done, publication.topic, call))
    return ack


async def _in_time(session: BrokerSession, waiting: Awaitable[object], deadline: float, words: str) -> None:
    try:
        async with asyncio.timeout(max(0.0, deadline - session.clock.now())):
            await waiting
    except TimeoutError:
        raise DeviceTimeout(words) from None


def _handle_ack(ack: "asyncio.Future[bytes]", topic: str, call: PendingCall) -> None:
    """Handle the broker's acknowledgement of a message.

    End the call if the broker refused the message, or if no client has subscribed to its topic. A lost connection does not end
    the call, because the device may have received the message.
    """
    if ack.cancelled() or ack.exception() is not None:
        return
    reason = ack.result()[0]
    if reason >= FAILURE:
        call.end(DeviceRefused(f"the broker does not let the gateway publish to {topic}: {words_for(reason)}"))
    elif reason == NO_MATCHING_SUBSCRIBERS:
        call.end(DeviceOffline(f"no device is subscribed to {topic}"))
