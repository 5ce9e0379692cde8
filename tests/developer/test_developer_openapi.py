"""The OpenAPI document and the page docs/developer-api.md: in agreement with the operations that are served."""

import pytest

from domogate.developer.surface import SURFACE
from support.developer_setup import DeveloperApi
from support.surface_docs import check_document, check_page, document_of

pytestmark = pytest.mark.slow


def test_the_page_has_every_operation_as_it_is_declared() -> None:
    check_page("developer-api.md", SURFACE)


async def test_the_document_is_valid_and_served_without_a_token(api: DeveloperApi) -> None:
    check_document(document_of(SURFACE), SURFACE)
    assert (await api.send("GET", "/openapi.json", token="")).json() == document_of(SURFACE)
