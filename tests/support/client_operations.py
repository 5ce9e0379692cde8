"""All operations that the clients must have."""

from client_generator.documents import Described, Documents


def every_operation() -> dict[str, Described]:
    """The operations of all documents, by name."""
    documents = Documents()
    return {one.name: one for document in documents.by_name for one in documents.operations(document)}
