"""The document of the test API, and its page."""

from domogate.test_api import SURFACE
from support.surface_docs import check_document, check_page, document_of


class TestDocument:
    def test_it_is_valid_and_complete(self) -> None:
        check_document(document_of(SURFACE), SURFACE)

    def test_the_page_has_every_operation(self) -> None:
        check_page("testing-apps.md", SURFACE)
