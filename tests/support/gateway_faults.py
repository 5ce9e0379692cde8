"""Injects faults into a running gateway from a second process, with the service that the commands use."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from typing import TypeVar

from domogate.app import Tools, open_tools
from domogate.domain.ids import Id
from domogate.domain.injections import InjectedFault, Injection
from domogate.services.plants.fault_injection import FaultInjector
from domogate.settings import Settings
from support.gateway import Gateway
from support.http import PATIENCE

T = TypeVar("T")


@dataclass(frozen=True)
class FaultRequest:
    """One fault to inject: into a module, or into the whole plant."""

    plant: str
    fault: str
    module: str | None = None
    value: str = ""
    until: float | None = None


class GatewayFaults:
    """Injects and clears faults. Each call returns when the running gateway has applied it."""

    def __init__(self, gateway: Gateway) -> None:
        self._settings = Settings(data=gateway.data, public_url=gateway.base_url)
        self._runner = asyncio.Runner()
        self._stack = AsyncExitStack()
        self._tools = self._runner.run(self._stack.enter_async_context(open_tools(self._settings)))

    def close(self) -> None:
        self._runner.run(self._stack.aclose())
        self._runner.close()

    def inject(self, *requests: FaultRequest) -> None:
        async def all_of_them(injector: FaultInjector) -> None:
            for request in requests:
                module = None if request.module is None else Id(request.module)
                await injector.inject(Id(request.plant), module, InjectedFault(request.fault), request.value, request.until)

        self._act(all_of_them)

    def clear(self) -> int:
        return self._act(lambda injector: injector.clear())

    def list_kept(self) -> Sequence[tuple[Id, Injection]]:
        """All faults on disk, ended ones included."""
        return self._runner.run(self._tools.store.list_injections())

    @contextmanager
    def injected(self, *requests: FaultRequest) -> Iterator[None]:
        """Inject for the block; then clear all faults."""
        try:
            self.inject(*requests)
            yield
        finally:
            self.clear()

    def now(self) -> float:
        return self._tools.clock.now()

    def _act(self, act: Callable[[FaultInjector], Awaitable[T]]) -> T:
        async def run(tools: Tools) -> T:
            result = await act(FaultInjector(tools.store, tools.clock, tools.audit))
            assert await tools.store.wait_applied(PATIENCE), "the running gateway did not take up the change"
            return result

        return self._runner.run(run(self._tools))
