"""Sessions with a gateway: each proof of the password, refusals, one request at a time, never sent twice."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from domogate.drivers.openwebnet import OpenWebNetGateway, command_session, session
from domogate.drivers.openwebnet.command_session import CommandSession, DeadlinePassed, NoAnswer, NotSent
from domogate.drivers.openwebnet.frames import Frame, Normal, StatusRequest
from domogate.drivers.openwebnet.session import SessionKind, SessionLost, SessionRefused, open_session
from support.clocks import LoopClock
from support.idle_time import skip_time
from support.openwebnet_bus import BusLight
from support.openwebnet_gateway import ACK, BusGateway

pytestmark = pytest.mark.usefixtures("steady_time")

ON, OFF, STATUS = Normal(1, 1, "11"), Normal(1, 0, "11"), StatusRequest(1, "11")


def config(gateway: BusGateway, password: str | None = None) -> OpenWebNetGateway:
    return OpenWebNetGateway(name="home", host="127.0.0.1", port=gateway.port, password=password)


PROOFS = [("12345", "open"), ("abcde123", "sha1"), ("abcde123", "sha256")]


class TestOpening:
    @pytest.mark.parametrize(("password", "proof"), [("", "open"), *PROOFS])
    async def test_with_each_proof(self, password: str, proof: str) -> None:
        async with BusGateway(BusLight("11"), password=password, proof=proof) as gateway:
            opened = await open_session(config(gateway, password or None), SessionKind.COMMAND)
            opened.write(STATUS)
            assert await opened.read() == OFF
            await opened.close()
            assert gateway.sessions == {"0": 1, "1": 0}

    @pytest.mark.parametrize(("password", "proof"), PROOFS)
    @pytest.mark.parametrize("hangs_up", [False, True])
    async def test_a_wrong_password_is_a_refusal(self, password: str, proof: str, hangs_up: bool) -> None:
        async with BusGateway(password=password, proof=proof) as gateway:
            gateway.hangs_up_on_wrong_password = hangs_up
            with pytest.raises(SessionRefused, match="refused the password"):
                await open_session(config(gateway, "999"), SessionKind.EVENT)

    @pytest.mark.parametrize(("password", "proof"), PROOFS)
    async def test_no_password_where_one_is_asked_for_is_a_refusal(self, password: str, proof: str) -> None:
        async with BusGateway(password=password, proof=proof) as gateway:
            with pytest.raises(SessionRefused, match="no password is set"):
                await open_session(config(gateway), SessionKind.EVENT)

    async def test_the_old_proof_needs_a_number(self) -> None:
        async with BusGateway(password="12345") as gateway:
            with pytest.raises(SessionRefused, match="is a number"):
                await open_session(config(gateway, "abc"), SessionKind.EVENT)

    @pytest.mark.parametrize(("password", "proof"), PROOFS[1:])
    async def test_a_gateway_that_does_not_know_the_password_itself_is_not_believed(self, password: str, proof: str) -> None:
        async with BusGateway(password=password, proof=proof) as gateway:
            gateway.proves_itself_with = "a guess"
            with pytest.raises(SessionRefused, match="could not prove"):
                await open_session(config(gateway, password), SessionKind.EVENT)

    async def test_a_gateway_that_is_full_is_not_there(self) -> None:
        async with BusGateway() as gateway:
            gateway.full = True
            with pytest.raises(SessionLost, match="too many"):
                await open_session(config(gateway), SessionKind.EVENT)

    async def test_a_gateway_that_is_gone_is_told_in_words(self) -> None:
        async with BusGateway() as gateway:
            pass
        with pytest.raises(SessionLost, match=r"127\.0\.0\.1:\d+: "):
            await open_session(config(gateway), SessionKind.EVENT)

    @pytest.mark.parametrize(
        ("said", "error", "words"),
        [
            (b"", SessionLost, "closed the connection"),
            (b"HTTP/1.1 400 Bad Request\r\n\r\n##*#*0##", SessionLost, "does not answer like"),
            (b"*#*1##*1*1*11##", SessionLost, "did not open a session"),
            (b"*#*1##*98*7##", SessionRefused, "proof number 7"),
            (b"*#*1##*98*1##*#99##", SessionLost, "challenge"),
            (b"*#*1##*98*1##*#*1##", SessionLost, "did not send a challenge"),
        ],
    )
    async def test_what_is_no_gateway_is_found_out(self, said: bytes, error: type[Exception], words: str) -> None:
        async with impostor(said) as port:
            with pytest.raises(error, match=words):
                await open_session(
                    OpenWebNetGateway(name="home", host="127.0.0.1", port=port, password="abc"), SessionKind.EVENT
                )

    async def test_a_gateway_that_says_nothing_is_given_up_on(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(session, "TIMEOUT", 0.05)
        async with impostor(None) as port:
            with pytest.raises(SessionLost, match="did not open a session"):
                await open_session(OpenWebNetGateway(name="home", host="127.0.0.1", port=port), SessionKind.EVENT)


@asynccontextmanager
async def impostor(said: bytes | None) -> AsyncIterator[int]:
    """Sends the same to each client and closes after its first data; None: sends nothing and stays open."""
    stays = asyncio.Event()
    serving: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        serving.add(task)
        if said is None:
            await stays.wait()
        else:
            writer.write(said)
            if said:
                with suppress(ConnectionError):
                    await reader.read()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        stays.set()
        server.close()
        await server.wait_closed()
        await asyncio.wait(serving)


class RecordedSession:
    """A command session, and the frames that it received."""

    def __init__(self, gateway: BusGateway, password: str | None = None) -> None:
        self.clock = LoopClock()
        self.command_session = CommandSession(config(gateway, password), self.clock)
        self.recorder: list[Frame] = []

    async def send(self, request: Any, within: float = 30.0) -> bool:
        return await self.exchange_by(self.clock.now() + within, request)

    async def exchange_by(self, deadline: float, request: Any) -> bool:
        return await self.command_session.send(request, deadline, self.recorder.append)


@asynccontextmanager
async def dialled(*devices: BusLight, **settings: Any) -> AsyncIterator[tuple[BusGateway, RecordedSession]]:
    async with BusGateway(*devices, **settings) as gateway:
        dialling = RecordedSession(gateway, settings.get("password"))
        try:
            yield gateway, dialling
        finally:
            await dialling.command_session.stop()


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not holds():
            await asyncio.sleep(0.005)


async def outcome_of(work: Awaitable[Any]) -> Any:
    try:
        return await work
    except Exception as error:
        return type(error)


class TestCommandLine:
    async def test_ack_nack_and_answers(self) -> None:
        async with dialled(BusLight("11")) as (gateway, dialling):
            gateway.disobedient.add("11")
            assert await dialling.send(STATUS) is True
            assert dialling.recorder == [OFF]
            assert await dialling.send(ON) is False
            assert gateway.sessions["0"] == 1, "one session will do"

    async def test_requests_of_many_go_one_after_the_other_and_each_gets_its_own_answer(self) -> None:
        async with dialled(*(BusLight(f"1{number}") for number in range(1, 9))) as (gateway, dialling):
            gateway.delay = 0.005
            gateway.disobedient.update({"12", "14"})
            answers = await asyncio.gather(*(dialling.send(Normal(1, 1, f"1{number}")) for number in range(1, 9)))
            assert answers == [True, False, True, False, True, True, True, True]
            assert gateway.sessions["0"] == 1

    @pytest.mark.slow
    async def test_a_silent_gateway_is_a_timeout_for_each_at_its_own_deadline_and_gets_nothing_late(self) -> None:
        async with dialled(BusLight("11")) as (gateway, dialling):
            gateway.mute = True
            deadline = dialling.clock.now() + 0.5
            latest = deadline - 0.1  # when the first has timed out, the deadline of the others has passed
            first, *others = await asyncio.gather(
                outcome_of(dialling.exchange_by(deadline, ON)),
                *(outcome_of(dialling.exchange_by(latest, ON)) for _ in range(49)),
            )
            assert first is NoAnswer
            assert set(others) == {DeadlinePassed}
            await asyncio.sleep(0.05)
            assert gateway.told == ["*1*1*11##"]

    async def test_patience_with_a_silent_gateway_ends_before_a_far_deadline(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(command_session, "REPLY_TIMEOUT", 0.05)
        async with dialled(BusLight("11")) as (gateway, dialling):
            gateway.mute = True
            with pytest.raises(NoAnswer):
                await dialling.send(ON, within=3600)
            gateway.mute = False
            assert await dialling.send(STATUS)
            assert gateway.sessions["0"] == 2, "what it might have said late would be taken for another answer"

    async def test_an_answer_that_is_there_counts_though_the_driver_was_held_up_until_the_time_was_over(self) -> None:
        async with dialled(BusLight("11")) as (gateway, dialling):
            gateway.mute = True
            exchanging = asyncio.create_task(dialling.send(ON, within=1.0))
            await until(lambda: gateway.told != [])
            gateway.say(ACK)
            skip_time(asyncio.get_running_loop(), 60)
            assert await exchanging
            gateway.mute = False
            assert await dialling.send(STATUS)
            assert gateway.sessions["0"] == 1

    async def test_a_caller_that_gives_up_leaves_no_answer_for_the_next(self) -> None:
        async with dialled(BusLight("11")) as (gateway, dialling):
            gateway.delay = 0.1
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(dialling.send(ON), 0.05)
            gateway.delay = 0
            assert await dialling.send(STATUS)
            assert dialling.recorder == [OFF] or dialling.recorder == [ON]

    async def test_a_gateway_that_hangs_up_is_not_told_again(self) -> None:
        async with dialled(BusLight("11")) as (gateway, dialling):
            gateway.hangs_up_before_answering = True
            with pytest.raises(NoAnswer, match="closed the connection before"):
                await dialling.send(ON)
            assert gateway.told == ["*1*1*11##"]

    async def test_a_session_that_the_gateway_closed_meanwhile_is_opened_again(self) -> None:
        async with dialled(BusLight("11")) as (gateway, dialling):
            assert await dialling.send(STATUS)
            await gateway.drop_connections()
            await until(lambda: dialling.command_session._session is not None and not dialling.command_session._session.is_open)
            assert await dialling.send(ON)
            assert gateway.told == ["*1*1*11##"]

    async def test_a_session_that_nobody_needs_is_closed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(command_session, "IDLE_LIMIT", 0.02)
        async with dialled(BusLight("11")) as (gateway, dialling):
            assert await dialling.send(STATUS)
            await until(lambda: not gateway.connections)

    async def test_nothing_is_sent_after_its_deadline(self) -> None:
        async with dialled(BusLight("11")) as (gateway, dialling):
            for within in (0.0, -1.0):
                with pytest.raises(DeadlinePassed):
                    await dialling.send(ON, within=within)
            assert await dialling.send(STATUS)
            with pytest.raises(DeadlinePassed):
                await dialling.send(ON, within=0.0)
            assert gateway.told == []

    async def test_a_wrong_password_is_not_tried_again_for_a_while(self) -> None:
        async with dialled(BusLight("11"), password="12345") as (gateway, dialling):
            gateway.password = "54321"
            for _ in range(5):
                with pytest.raises(NotSent, match="refused the password"):
                    await dialling.send(ON)
            assert gateway.wrong_passwords == 1

    async def test_the_queue_has_an_end(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(command_session, "MOST_WAITING", 3)
        async with dialled(BusLight("11")) as (gateway, dialling):
            gateway.mute = True
            waiting = [asyncio.create_task(outcome_of(dialling.send(ON, within=3.0))) for _ in range(4)]
            await until(lambda: gateway.told != [])
            with pytest.raises(DeadlinePassed, match="waiting requests"):
                await dialling.send(ON)
            for task in waiting:
                task.cancel()
            await asyncio.wait(waiting)
