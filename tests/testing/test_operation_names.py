"""The test kit, the clients and the OpenAPI documents have the same names of operations."""

import importlib
import pkgutil

from domogate.app.documents import DOCUMENTS, openapi_document
from domogate.app.kit_requests import list_operations
from domogate.settings import Settings
from domogate_client import api
from domogate_client._operation import Operation


def list_client_names() -> set[str]:
    modules = [importlib.import_module(f"{api.__name__}.{found.name}") for found in pkgutil.iter_modules(api.__path__)]
    return {value.name for module in modules for value in vars(module).values() if isinstance(value, Operation)}


class TestNames:
    def test_they_are_the_names_that_the_client_prints(self) -> None:
        assert {operation.name for operation in list_operations().values()} == list_client_names()

    def test_each_operation_has_the_statuses_of_its_document(self) -> None:
        listed = {}
        for document in DOCUMENTS:
            for methods in openapi_document(document, Settings())["paths"].values():
                for one in methods.values():
                    statuses = {int(status) for status in one["responses"] if int(status) >= 400}
                    listed[f"{document}.{one['operationId']}"] = listed[one.get("x-operation", "")] = statuses
        del listed[""]
        assert {name: operation.statuses for name, operation in list_operations().items()} == listed
