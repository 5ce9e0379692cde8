"""Serves the OpenAPI documents of the families, /openapi/{family}.json, and an index of them."""

from collections.abc import Iterable

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from domogate.families._family import Family
from domogate.families._openapi import openapi_document
from domogate.families._wire import encode


def build_documents(families: Iterable[Family], *, base_url: str, version: str) -> Starlette:
    """The documents are built once: declarations do not change while the gateway runs."""
    documents = {family.slug: encode(openapi_document(family, base_url=base_url, version=version)) for family in families}
    index = encode({"documents": {slug: f"{base_url}/openapi/{slug}.json" for slug in documents}})

    async def serve_index(_: Request) -> Response:
        return Response(index, media_type="application/json")

    async def serve_document(request: Request) -> Response:
        document = documents.get(request.path_params["slug"])
        if document is None:
            return Response(
                encode({"statusCode": 404, "message": f"no such family; the families are {', '.join(documents)}"}),
                status_code=404,
                media_type="application/json",
            )
        return Response(document, media_type="application/json")

    app = Starlette(routes=[Route("/openapi", serve_index), Route("/openapi/{slug}.json", serve_document)])
    app.router.redirect_slashes = False
    return app
