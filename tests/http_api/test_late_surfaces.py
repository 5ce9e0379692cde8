"""Surfaces that are built when their first request arrives (Decision 0142)."""

import asyncio
import sys
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from domogate.app.late_surfaces import OWN_APIS, LateSurface, LateSurfaces, build_late_surfaces
from domogate.common.http_messages import Answer, Request


class App:
    """Notes the requests that it gets."""

    def __init__(self) -> None:
        self.requests: list[Any] = []

    async def __call__(self, scope: Any, _receive: Any, _send: Any) -> None:
        self.requests.append(scope)

    async def answer(self, request: Request) -> Answer:
        self.requests.append(request)
        return Answer(204, b"", [])


class Builder:
    """Builds two apps. It waits until the test lets it go on."""

    def __init__(self) -> None:
        self.may_build = asyncio.Event()
        self.built = 0
        self.apps = {b"one": App(), b"two": App()}

    async def build(self) -> Any:
        self.built += 1
        await self.may_build.wait()
        return self.apps


async def test_requests_that_arrive_at_the_same_time_cause_one_build() -> None:
    builder = Builder()
    surfaces = LateSurfaces(builder.build)
    one, two = LateSurface(surfaces, b"one"), LateSurface(surfaces, b"two")
    assert builder.built == 0
    requests = [asyncio.create_task(surface(number, None, None)) for number, surface in enumerate((one, one, two))]
    await asyncio.sleep(0)
    builder.may_build.set()
    await asyncio.gather(*requests)
    await one(3, None, None)
    assert builder.built == 1
    assert sorted(builder.apps[b"one"].requests) == [0, 1, 3]
    assert builder.apps[b"two"].requests == [2]


async def test_a_direct_request_is_passed_to_the_built_app() -> None:
    builder = Builder()
    builder.may_build.set()
    surface, request = LateSurface(LateSurfaces(builder.build), b"one"), Request("POST", b"/one", [], "")
    assert (await surface.answer(request)).status == 204
    assert builder.apps[b"one"].requests == [request]


async def test_after_a_failed_build_the_next_request_builds_again() -> None:
    builder = Builder()
    builder.may_build.set()
    failures = [OSError("no memory")]

    async def build() -> Any:
        if failures:
            raise failures.pop()
        return await builder.build()

    surface = LateSurface(LateSurfaces(build), b"one")
    with pytest.raises(OSError, match="no memory"):
        await surface("first", None, None)
    await surface("second", None, None)
    assert builder.apps[b"one"].requests == ["second"]


async def test_the_surfaces_are_built_on_a_thread_so_that_other_requests_do_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    app, threads = App(), []

    def build_surfaces(_gateway: Any) -> dict[bytes, App]:
        threads.append(threading.get_ident())
        return dict.fromkeys(OWN_APIS, app)

    for module in ("identity_surface", "own_apis", "management_api"):
        monkeypatch.setitem(sys.modules, f"domogate.app.{module}", SimpleNamespace(build_surfaces=build_surfaces))
    unused: Any = None
    late = build_late_surfaces(unused)
    for name in OWN_APIS:
        await late[name]({}, None, None)
    assert len(app.requests) == len(OWN_APIS)
    assert len(threads) == 2  # `own_apis` and `management_api`, each once
    assert threading.get_ident() not in threads
