"""Messages about the progress of gateways in the change feed (services/cluster/propagation.py)."""

import asyncio
import secrets
from collections.abc import Callable

import msgspec
import structlog
from nats.aio.msg import Msg

from domogate.domain.ids import Id
from domogate.fabric.connection import NatsConnection

_log = structlog.get_logger(__name__)


class Progress(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A question about a position in the change feed, or an answer.

    In a question, `sender` is the subject to which the answers are sent. In an answer, `sender` is the id of the member that
    answers.
    """

    sender: str
    cursor: int


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Progress).decode


class NatsProgress:
    """Implements ProgressMessenger: questions go to all gateways, and answers go to the gateway that asked."""

    def __init__(self, connection: NatsConnection, cluster: str) -> None:
        self._connection = connection
        self._questions = f"{cluster}.progress"
        self._inbox = f"{cluster}.progress.{secrets.token_hex(8)}"
        self._sending: set[asyncio.Task[None]] = set()

    async def start(self, on_question: Callable[[str, int], None], on_answer: Callable[[Id, int], None]) -> None:
        async def take_question(message: Msg) -> None:
            question = _decode(message.data)
            if question.sender != self._inbox:
                on_question(question.sender, question.cursor)

        async def take_answer(message: Msg) -> None:
            answer = _decode(message.data)
            on_answer(Id(answer.sender), answer.cursor)

        await self._connection.subscribe(self._questions, take_question)
        await self._connection.subscribe(self._inbox, take_answer)

    def ask(self, cursor: int) -> None:
        self._send(self._questions, Progress(self._inbox, cursor))

    def answer(self, asker: str, member_id: Id, cursor: int) -> None:
        self._send(asker, Progress(member_id, cursor))

    def _send(self, subject: str, progress: Progress) -> None:
        task = asyncio.ensure_future(self._publish(subject, _encode(progress)))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _publish(self, subject: str, content: bytes) -> None:
        try:
            await self._connection.publish(subject, content)
        except ConnectionError as error:
            _log.debug("progress not sent", subject=subject, reason=str(error))
