"""Questions about the change feed between two gateways on a real NATS server."""

import asyncio
from pathlib import Path

from domogate.domain.ids import Id
from domogate.fabric.connection import NatsAccess, NatsConnection
from domogate.fabric.progress import NatsProgress
from support.devices import make_id
from support.nats_server import NatsServer


async def test_others_get_a_question_and_only_the_asker_gets_the_answer(tmp_path: Path) -> None:
    server = NatsServer(tmp_path)
    server.start()
    connections = [NatsConnection(NatsAccess(servers=(server.url,)), "test") for _ in range(3)]
    gateways = [NatsProgress(connection, "test") for connection in connections]
    questions: list[tuple[int, int]] = []
    answers: list[tuple[int, Id, int]] = []
    done = asyncio.Event()

    async def start(number: int) -> None:
        def on_question(asker: str, cursor: int) -> None:
            questions.append((number, cursor))
            gateways[number].answer(asker, make_id(number), cursor + 1)

        def on_answer(member_id: Id, cursor: int) -> None:
            answers.append((number, member_id, cursor))
            if len(answers) == 2:
                done.set()

        await connections[number].start()
        await gateways[number].start(on_question, on_answer)
        await connections[number].flush()

    try:
        for number in range(3):
            await start(number)
        gateways[0].ask(7)
        async with asyncio.timeout(60):
            await done.wait()
        assert sorted(questions) == [(1, 7), (2, 7)]
        assert sorted(answers) == [(0, make_id(1), 8), (0, make_id(2), 8)]
    finally:
        for connection in connections:
            await connection.stop()
        server.stop()
