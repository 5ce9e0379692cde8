"""Serves the OpenAPI documents of the families, /openapi/{family}.json, and an index of all documents."""

import asyncio
from collections.abc import Callable, Iterable, Mapping

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from domogate.families._family import Family
from domogate.families._openapi import openapi_document
from domogate.families._wire import encode


def build_documents(
    families: Iterable[Family], list_others: Callable[[], Mapping[str, str]], *, base_url: str, version: str
) -> Starlette:
    """Return the ASGI application that serves the OpenAPI documents of the families, and an index of all documents.

    The index and each document are made when they are first requested.

    `list_others` returns the names and paths of OpenAPI documents that other parts of the gateway serve.
    """
    by_slug = {family.slug: family for family in families}
    made: dict[str, bytes] = {}

    async def serve_index(_: Request) -> Response:
        if "" not in made:
            paths = {slug: f"/openapi/{slug}.json" for slug in by_slug} | dict(await asyncio.to_thread(list_others))
            made[""] = encode({"documents": {name: f"{base_url}{path}" for name, path in paths.items()}})
        return Response(made[""], media_type="application/json")

    async def serve_document(request: Request) -> Response:
        slug = request.path_params["slug"]
        if slug not in by_slug:
            message = f"no such family; the families are {', '.join(by_slug)}"
            return Response(encode({"statusCode": 404, "message": message}), status_code=404, media_type="application/json")
        if slug not in made:
            made[slug] = encode(openapi_document(by_slug[slug], base_url=base_url, version=version))
        return Response(made[slug], media_type="application/json")

    routes = [Route("/openapi", serve_index), Route("/openapi/", serve_index), Route("/openapi/{slug}.json", serve_document)]
    app = Starlette(routes=routes)
    app.router.redirect_slashes = False
    return app
