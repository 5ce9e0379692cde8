"""A gateway for tests of applications: it can return to its initial data (Decision 0112)."""

import asyncio
from functools import partial
from typing import Any

from domogate import __version__
from domogate.app.gateway import Gateway
from domogate.app.kit_data import KIT_CLIENT, KitData
from domogate.app.kit_requests import find_facts, list_operations, list_statuses, refuse
from domogate.app.movable_clock import MovableClock
from domogate.domain.ids import new_id
from domogate.domain.people import Client, Grant, TokenKind
from domogate.edge.logs import recent_lines, redact_value
from domogate.edge.stack import ASGIApp
from domogate.http_api.app import SurfaceApp
from domogate.http_api.credentials import OperatorToken
from domogate.services.refusals import Invalid, NotFound
from domogate.test_api import (
    MOST_LEVELS,
    PREFIX,
    SURFACE,
    Content,
    FaultRules,
    Gate,
    GatewayFunctions,
    IssuedTokens,
    KitServices,
    TokenRequest,
    Traffic,
)

_FINISH = 1.0
"""A reset waits at most this number of seconds for running requests, and then aborts their connections."""


class ResettableGateway:
    """Serves one gateway at a time. A reset stops this gateway, and starts a new gateway on a copy of the initial data.

    So a reset forgets everything: caches, counted requests, streams, deliveries and devices belong to the stopped gateway.
    """

    def __init__(self, data: KitData) -> None:
        self._data = data
        self.clock = MovableClock()
        self._rules = FaultRules()
        self._traffic = Traffic(partial(redact_value, levels=MOST_LEVELS))
        self._gate = Gate(self._rules, self._traffic, self.clock)
        self._changing = asyncio.Lock()
        self._is_open = asyncio.Event()
        self.must_stop = asyncio.Event()
        """Set if a new gateway cannot start. Then the process ends, because it cannot serve any more."""
        self._gateway: Gateway | None = None
        self._application: ASGIApp | None = None

    @property
    def gateway(self) -> Gateway:
        assert self._gateway is not None, "the gateway has started"
        return self._gateway

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._is_open.wait()
        assert self._application is not None
        await self._application(scope, receive, send)

    async def start(self) -> None:
        gateway = Gateway(self._data.copy(), kit=self)
        self._application = await gateway.start()
        await gateway.driving.start_plants()
        self._gateway = gateway
        self._is_open.set()

    def drain(self) -> None:
        self.gateway.drain()

    async def stop(self) -> None:
        await self._stop(self.gateway)

    async def _stop(self, gateway: Gateway) -> None:
        await gateway.stop()
        self._data.remove(gateway.settings)

    async def reset(self) -> None:
        async with self._changing:
            await self._start_again()

    async def replace_estate(self, document: str) -> Content:
        async with self._changing:
            content = await self._data.replace_estate(document)
            await self._start_again()
            return content

    async def _start_again(self) -> None:
        self._is_open.clear()
        self.drain()
        await self._gate.finish(_FINISH)
        self._rules.clear()
        self._traffic.clear()
        self.clock.reset()
        recent_lines.clear()
        try:
            # The two gateways have separate data, so one can start while the other still stops.
            await asyncio.gather(self._stop(self.gateway), self.start())
        except Exception:
            self.must_stop.set()
            raise

    async def advance(self, seconds: float) -> None:
        store, address = self.gateway.store, self.gateway.settings.base_url
        # A write of the present value changes nothing. It ends after all earlier statements.
        await self.clock.advance(seconds, lambda: store.set_address(address))

    async def issue_tokens(self, request: TokenRequest) -> IssuedTokens:
        store, signer, now = self.gateway.store, self.gateway.signer, self.clock.now()
        user = await store.find_user_by_email(request.email)
        if user is None:
            raise NotFound(f"There is no user {request.email!r}.")
        if not user.active:
            raise Invalid(f"{request.email} is not active: the estate gives this user no password.")
        client = await self._find_client(request.client_id or KIT_CLIENT)
        scopes = client.scopes if request.scopes is None else request.scopes
        if beyond := [scope for scope in scopes if scope not in client.scopes]:
            raise Invalid(f"The client {client.id} may not have these scopes: {', '.join(beyond)}.")
        for plant_id in request.plants or ():
            if await store.find_plant(plant_id) is None:
                raise NotFound(f"There is no plant {plant_id}.")
        grant = Grant(new_id(), user.id, client.id, tuple(scopes), created_at=now, plants=request.plants)
        await store.add_grant(grant)
        access, identity = [
            await signer.mint_token(kind, user, client, grant, request.lifetime) for kind in (TokenKind.ACCESS, TokenKind.ID)
        ]
        lifetime = request.lifetime or self.gateway.settings.access_token_lifetime
        return IssuedTokens(access, identity, client.id, tuple(scopes), now + lifetime)

    async def _find_client(self, client_id: str) -> Client:
        client = await self.gateway.store.find_client(client_id)
        if client is None:
            raise NotFound(f"There is no client {client_id!r}.")
        return client

    def wrap(self, gateway: Gateway, app: ASGIApp) -> ASGIApp:
        """Return an application that serves the test API. It passes all other requests to `app`, with the injected faults of
        the test kit."""
        services = KitServices(
            self,
            self._rules,
            self._gate,
            self._traffic,
            gateway.store,
            gateway.fault_injector,
            self.clock,
            list_operations(),
        )
        credentials = OperatorToken(gateway.verifier, gateway.store, gateway.audit)
        base_url, max_body = gateway.settings.base_url, gateway.settings.max_body
        kit = SurfaceApp(SURFACE, services, credentials, base_url=base_url, version=__version__, max_body=max_body)
        gated = self._gate.wrap(
            app,
            GatewayFunctions(
                lambda scope, with_user: find_facts(scope, gateway.verifier if with_user else None), refuse, list_statuses
            ),
        )
        prefix = f"{PREFIX}/".encode()

        async def choose(scope: Any, receive: Any, send: Any) -> None:
            await (kit if scope["raw_path"].startswith(prefix) else gated)(scope, receive, send)

        return choose
