"""Declarations of operations: what is derived from a handler, and contradictions that fail at import."""

from collections.abc import Callable
from typing import Any

import pytest
from starlette.responses import Response

from domogate import homes, tickets
from domogate.http_api.credentials import KeyAndToken
from domogate.http_api.openapi import errors_of
from domogate.http_api.operations import Call, Operation, OperationTable, RequestHeader, Surface
from domogate.http_api.paging import Page
from domogate.wire import InputModel, OutputModel


class NewThing(InputModel, frozen=True):
    name: str


class ThingOut(OutputModel, frozen=True):
    name: str


async def change_one_thing(services: object, call: Call[None], body: NewThing, query: Page) -> ThingOut:
    return ThingOut(body.name)


async def remove_thing(services: object, call: Call[None]) -> None: ...


async def print_thing(services: object, call: Call[None]) -> Response:
    return Response()


def declare(handler: Callable[..., Any], route: str, **options: Any) -> Operation:
    table = OperationTable("things")
    table.add(route, "A summary", **options)(handler)
    return table[0]


def errors(operation: Operation) -> set[int]:
    surface = Surface(name="x", prefix="/x", description="x", operations=[operation], credentials=KeyAndToken)
    return set(errors_of(operation, surface))


class TestADeclaration:
    def test_takes_its_id_and_types_from_the_handler(self) -> None:
        operation = declare(change_one_thing, "PATCH /things/{thingId}")
        assert (operation.id, operation.label, operation.tag) == ("changeOneThing", "changeOneThing", "things")
        assert (operation.body, operation.query, operation.answer, operation.status) == (NewThing, Page, ThingOut, 200)
        assert operation.parameters == ("thingId",)

    def test_of_a_handler_without_an_answer_has_the_status_204(self) -> None:
        assert declare(remove_thing, "DELETE /things").status == 204

    def test_lists_the_errors_that_follow_from_its_parts(self) -> None:
        of_credentials = set(KeyAndToken.errors)
        assert errors(declare(remove_thing, "DELETE /x")) == {500, 503, *of_credentials}
        assert errors(declare(remove_thing, "DELETE /{x}", errors=(409,))) == {404, 409, 500, 503, *of_credentials}
        assert errors(declare(remove_thing, "DELETE /x", header=RequestHeader("X", "x"))) == {400, 500, 503, *of_credentials}
        assert errors(declare(change_one_thing, "POST /x", anonymous=True)) == {400, 413, 415, 500, 503}

    @pytest.mark.parametrize(
        ("handler", "route", "options"),
        [
            (change_one_thing, "PATCH /x", {"status": 204}),
            (remove_thing, "DELETE /x", {"status": 200}),
            (change_one_thing, "GET /x", {}),
            (remove_thing, "DELETE /x/{id}/{id}", {}),
            (print_thing, "GET /x", {}),
            (remove_thing, "DELETE /x", {"media_types": ("application/pdf",)}),
        ],
    )
    def test_that_contradicts_itself_fails_at_import(
        self, handler: Callable[..., Any], route: str, options: dict[str, Any]
    ) -> None:
        with pytest.raises(ValueError, match="Thing: "):
            declare(handler, route, **options)


@pytest.mark.parametrize("surface", [homes.SURFACE, tickets.SURFACE], ids=lambda surface: surface.name)
def test_the_posts_of_a_surface_with_direct_requests_answer_with_json(surface: Surface) -> None:
    # `SurfaceApp.answer` needs this: a Response has only the ASGI interface.
    assert [
        operation.id for operation in surface.operations if operation.method == "POST" and operation.answer is Response
    ] == []
    assert any(operation.method == "POST" for operation in surface.operations)
