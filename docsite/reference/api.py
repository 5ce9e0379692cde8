"""The page of the operations of all APIs, from the declarations that also serve the requests."""

from collections.abc import Iterator
from typing import Any

from docsite.reference.markdown import escape, write_page, write_table
from domogate import __version__
from domogate.app.documents import SURFACES, openapi_document
from domogate.families import FAMILIES
from domogate.http_api.openapi import describe_surface
from domogate.http_api.operations import Surface
from domogate.settings import Settings
from domogate.test_api.surface import SURFACE as TESTING

_PAGES = {
    "home": "home-api.md",
    "events": "events.md",
    "webhooks": "webhooks.md",
    "tickets": "tickets.md",
    "developer": "developer-api.md",
    "management": "management.md",
    "testing": "testing-apps.md",
}
"""The page that describes each of our own APIs."""

_INTRODUCTION = """\
This page lists the operations of all APIs: the nine families, and our own APIs. It is made from the code, like the OpenAPI 3.1
documents of the gateway. These documents also describe the parameters and the bodies.

- `GET /openapi` lists the documents, except the document of the test API. Each section below says where its document is.
  `domogate openapi NAME` prints a document.
- The portal for developers at `/developers` shows the documents, and can send requests.
- [Errors](errors.md) explains the statuses. A few further statuses are possible for every request
  ([list](decisions/index.md#statuses-outside-an-operations-list)).
- The endpoints below `/auth` follow OAuth 2.0 and OpenID Connect. The gateway has no OpenAPI
  document about them: see [identity](identity.md)."""


def write_api_page() -> str:
    """Return the text of docs/api.md."""
    parts = [_INTRODUCTION]
    for family in FAMILIES:
        parts += _write_family(family.slug, family.name)
    for surface in (*SURFACES, TESTING):
        parts += _write_surface(surface)
    return write_page("All operations", parts)


def _write_family(slug: str, name: str) -> Iterator[str]:
    document = openapi_document(slug, Settings())
    yield f"## {name[0].upper()}{name[1:]}"
    page = f"families.md#{name.lower().replace(' ', '-')}"
    yield (
        f"{escape(document['info']['description'])} Every request needs a subscription key. "
        f"The document is `/openapi/{slug}.json`. [Families]({page}) describes the operations."
    )
    rows = [
        (
            f"{described['x-operation']}: {escape(described['summary'])}{' (deprecated)' * described.get('deprecated', False)}",
            request,
            " or ".join(f"`{scope}`" for scope in described.get("x-scopes-any-of", ())) or "none",
            _write_statuses(described),
        )
        for request, described in _list_operations(document)
    ]
    yield write_table(("operation", "request", "scope", "statuses"), rows)


def _write_surface(surface: Surface) -> Iterator[str]:
    document = describe_surface(surface, base_url=Settings().base_url, version=__version__)
    page = _PAGES[surface.name]
    yield f"## {surface.name.capitalize()}"
    place = f"The document is `{surface.document}`."
    yield f"{escape(surface.description)} {place} [Its page]({page}) describes the API."
    header = ["operation", "request", "statuses"]
    rows = [
        [f"`{described['operationId']}`: {escape(described['summary'])}", request, _write_statuses(described)]
        for request, described in _list_operations(document)
    ]
    if scope := surface.credentials.scope:
        header.insert(2, "scope")
        for row in rows:
            row.insert(2, f"`{scope}`")
    if "tags" in document and surface is not TESTING:
        header.append("description")
        for row, (_, described) in zip(rows, _list_operations(document), strict=True):
            row.append(_link_to(page, *described["tags"]))
    yield write_table(header, rows)


def _list_operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The operations of a document, each with its request."""
    for path, methods in document["paths"].items():
        for method, described in methods.items():
            yield f"`{method.upper()} {path}`", described


def _write_statuses(described: dict[str, Any]) -> str:
    return ", ".join(described["responses"])


def _link_to(page: str, tag: str) -> str:
    return f"[{tag}]({page}#{tag.replace(' ', '-')})"
