"""Messages about progress: which changes of the change feed another gateway has applied (services/cluster/propagation.py)."""

import asyncio
import re
import secrets
from collections.abc import Callable
from typing import Annotated

import msgspec
from nats.aio.msg import Msg

from domogate.common.limited_log import LimitedLog
from domogate.common.log import get_logger
from domogate.domain.ids import Id
from domogate.fabric.connection import NatsConnection
from domogate.fabric.messages import NotAMessage, decode

_log = get_logger(__name__)

_MOST_SENDING = 1_000
_LARGEST = 1_024
_LONGEST_SENDER = 100
"""The greatest length of `Progress.sender` in characters: a NATS subject for answers, or the id of a member.

The name of a cluster has at most 40 characters, so a subject for answers has at most 66. An id has 36.
"""


class Progress(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A message between gateways: a question or an answer.

    A question asks whether the other gateways have applied the changes up to `cursor`. In a question, `sender` is the NATS
    subject to which the answers are sent. An answer says that a gateway has applied the changes up to `cursor`. In an answer,
    `sender` is the id of this gateway.
    """

    sender: Annotated[str, msgspec.Meta(max_length=_LONGEST_SENDER)]
    cursor: Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Progress).decode


class NatsProgress:
    """Implements ProgressMessenger: questions go to all gateways, and answers go to the gateway that asked."""

    def __init__(self, connection: NatsConnection, cluster: str) -> None:
        self._connection = connection
        self._questions = f"{cluster}.progress"
        self._inbox = f"{cluster}.progress.{secrets.token_hex(8)}"
        self._is_inbox = re.compile(re.escape(self._questions) + r"\.[0-9a-f]{16}").fullmatch
        self._sending: set[asyncio.Task[None]] = set()
        self._not_valid = LimitedLog(_log, "messages about the progress of gateways are not valid")

    async def start(self, on_question: Callable[[str, int], None], on_answer: Callable[[Id, int], None]) -> None:
        async def take_question(message: Msg) -> None:
            question = self._decode(message)
            # An answer is sent only to a gateway, never to another subject that a stranger names.
            if question is not None and question.sender != self._inbox and self._is_inbox(question.sender):
                on_question(question.sender, question.cursor)

        async def take_answer(message: Msg) -> None:
            answer = self._decode(message)
            if answer is not None:
                on_answer(Id(answer.sender), answer.cursor)

        await self._connection.subscribe(self._questions, take_question)
        await self._connection.subscribe(self._inbox, take_answer)

    def _decode(self, message: Msg) -> Progress | None:
        try:
            return decode(_decode, message.data, _LARGEST)
        except NotAMessage as error:
            self._not_valid.warn(error)
            return None

    def ask(self, cursor: int) -> None:
        self._send(self._questions, Progress(self._inbox, cursor))

    def answer(self, asker: str, member_id: Id, cursor: int) -> None:
        self._send(asker, Progress(member_id, cursor))

    def _send(self, subject: str, progress: Progress) -> None:
        if len(self._sending) >= _MOST_SENDING:
            return  # Messages may be lost. The gateway that asked asks again.
        task = asyncio.ensure_future(self._publish(subject, _encode(progress)))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _publish(self, subject: str, content: bytes) -> None:
        try:
            await self._connection.publish(subject, content)
        except ConnectionError as error:
            _log.debug("progress not sent", subject=subject, reason=str(error))
