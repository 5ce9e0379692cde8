"""The answer to a write waits until the other gateways know the change."""

from typing import Any

import pytest

from domogate.common.http_messages import Answer, Request
from domogate.edge.after_write import AnswerAfterWrite, answer_after_write

START = {"type": "http.response.start", "status": 200, "headers": []}
BODY = {"type": "http.response.body", "body": b""}


async def answer_directly(*, writes: bool) -> list[str]:
    """Return what happened, in order."""
    happened: list[str] = []
    newest = 5

    async def handler(_: Request) -> Answer:
        nonlocal newest
        newest += writes
        return Answer(200, b"", [])

    async def wait() -> None:
        happened.append("known")

    await answer_after_write(handler, lambda: newest, wait)(Request("POST", b"/x", [], ""))
    return [*happened, "answered"]


async def call(method: str, *, writes: bool) -> list[str]:
    """Return what happened, in order."""
    happened: list[str] = []
    newest = 5

    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        nonlocal newest
        newest += writes
        await send(START)
        await send(BODY)

    async def wait() -> None:
        happened.append("known")

    async def send(message: Any) -> None:
        happened.append(message["type"].rpartition(".")[2])

    await AnswerAfterWrite(app, lambda: newest, wait)({"type": "http", "method": method}, None, send)
    return happened


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_a_write_is_answered_after_all_know_it(method: str) -> None:
    assert await call(method, writes=True) == ["known", "start", "body"]


async def test_a_request_without_a_change_is_answered_at_once() -> None:
    assert await call("POST", writes=False) == ["start", "body"]
    assert await answer_directly(writes=False) == ["answered"]


async def test_a_direct_write_is_answered_after_all_know_it() -> None:
    assert await answer_directly(writes=True) == ["known", "answered"]


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
async def test_a_read_does_not_wait_for_changes_of_others(method: str) -> None:
    assert await call(method, writes=True) == ["start", "body"]
