"""A surface that is built when its first request arrives (Decision 0142)."""

import asyncio
from typing import Any

import pytest

from domogate.app.late_surface import LateSurface


class Builder:
    """Builds an app that notes its requests. It waits until the test lets it go on."""

    def __init__(self) -> None:
        self.may_build = asyncio.Event()
        self.built = 0
        self.requests: list[Any] = []

    async def build(self) -> Any:
        self.built += 1
        await self.may_build.wait()

        async def app(scope: Any, _receive: Any, _send: Any) -> None:
            self.requests.append(scope)

        return app


async def test_requests_that_arrive_at_the_same_time_get_one_app() -> None:
    builder = Builder()
    surface = LateSurface(builder.build)
    assert builder.built == 0
    requests = [asyncio.create_task(surface(number, None, None)) for number in range(3)]
    await asyncio.sleep(0)
    builder.may_build.set()
    await asyncio.gather(*requests)
    await surface(3, None, None)
    assert (builder.built, sorted(builder.requests)) == (1, [0, 1, 2, 3])


async def test_after_a_failed_build_the_next_request_builds_again() -> None:
    builder = Builder()
    builder.may_build.set()
    failures = [OSError("no memory")]

    async def build() -> Any:
        if failures:
            raise failures.pop()
        return await builder.build()

    surface = LateSurface(build)
    with pytest.raises(OSError, match="no memory"):
        await surface("first", None, None)
    await surface("second", None, None)
    assert builder.requests == ["second"]
