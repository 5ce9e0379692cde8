"""Calls every operation of `support.sdk_calls` with the two clients of `clients/python`."""

import typing
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec

from client_generator.layout import snake_case
from domogate_client import AsyncClient, Client, RawContent, Tokens
from support.http import KEY_HEADER, PATIENCE
from support.sdk_calls import CALLS, NO_BODY, Call
from support.sdk_demo import SdkDemo

C = TypeVar("C", Client, AsyncClient)

_ARGUMENTS = {"plantid": "plant_id", "moduleid": "module_id"}


def client_for(kind: Callable[..., C], demo: SdkDemo, call: Call) -> C:
    """A client with the credentials of this call."""
    headers = demo.headers_for(call)
    token = headers.get("Authorization", "").removeprefix("Bearer ")
    tokens = Tokens(access_token=token, id_token=token)
    return kind(demo.gateway.base_url, headers.get(KEY_HEADER), tokens=tokens, deadline=PATIENCE)


def method_of(client: Any, call: Call) -> Any:
    return getattr(getattr(client, snake_case(call.document)), snake_case(call.operation))


def arguments_of(method: Any, demo: SdkDemo, call: Call) -> dict[str, Any]:
    """The arguments of the method. The body has the type that the method declares."""
    values = {**demo.fill(call.path), **demo.fill(call.query)}
    arguments = {_ARGUMENTS.get(name) or snake_case(name): value for name, value in values.items()}
    if call.body is not NO_BODY:
        arguments["body"] = msgspec.convert(demo.fill(call.body), typing.get_type_hints(method)["body"])
    if call.operation == "picture":
        arguments["token"] = demo.known["pictureToken"]
    return arguments


def keep(demo: SdkDemo, call: Call, answer: Any) -> None:
    """Keep what later calls need, and check that the answer is of the right kind."""
    assert (answer is None) == (call.status == 204 or call.operation in _WITHOUT_BODY), call.name
    if isinstance(answer, RawContent):
        assert answer.data, call.name
        assert answer.media_type, call.name
    elif answer is not None:
        demo.keep(call, msgspec.to_builtins(answer))


_WITHOUT_BODY = {"switchPlugs", "setLight", "setChronothermostat", "runScene", "unsubscribe"}


def call_all_blocking(demo: SdkDemo) -> set[str]:
    """Return the names of the operations that were called."""
    called: set[str] = set()
    for call in CALLS:
        with client_for(Client, demo, call) as client:
            method = method_of(client, call)
            arguments = arguments_of(method, demo, call)
            if call.operation == "listen":
                with method(**arguments) as stream:
                    assert next(stream) is not None
            else:
                keep(demo, call, method(**arguments))
        called.add(call.name)
    return called


async def call_all_awaiting(demo: SdkDemo) -> set[str]:
    """Return the names of the operations that were called."""
    called: set[str] = set()
    for call in CALLS:
        async with client_for(AsyncClient, demo, call) as client:
            method: Callable[..., Awaitable[Any]] = method_of(client, call)
            arguments = arguments_of(method, demo, call)
            if call.operation == "listen":
                stream: Any = method(**arguments)
                async with stream:
                    assert await anext(stream) is not None
            else:
                keep(demo, call, await method(**arguments))
        called.add(call.name)
    return called
