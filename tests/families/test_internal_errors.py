"""An internal error is a 500 in the shape of its family."""

import json
import re
from collections.abc import MutableMapping
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from domogate.domain.faults import Internal
from domogate.families import FAMILIES
from domogate.families._errors import shape_a
from domogate.families._family import Family, Operation
from domogate.families._serve import FamilyApp


class FailingCheck:
    """An internal error in the first check, with a secret in its message."""

    def admit_known(self, key: bytes) -> NoReturn:
        raise RuntimeError(f"the key is {key!r}")


class TestInternalErrors:
    @pytest.mark.parametrize(
        ("family", "operation"),
        [(family, each) for family in FAMILIES for each in family.operations],
        ids=lambda it: it.name if isinstance(it, Family) else it.id,
    )
    async def test_an_error_is_500_in_the_familys_shape_and_shows_no_detail(self, family: Family, operation: Operation) -> None:
        broken: Any = FailingCheck()
        services: Any = SimpleNamespace(read_model=None, clock=SimpleNamespace(now=lambda: 0.0))
        app = FamilyApp(family, services, admission=broken, verifier=broken, max_body=1, sunset={})
        path = re.sub(r"\{\w+\}", "x", f"{family.prefix}/{operation.contract_path}").encode()
        scope = {"method": operation.method, "raw_path": path, "headers": [(b"ocp-apim-subscription-key", b"hidden")]}
        sent: list[MutableMapping[str, Any]] = []

        async def send(message: MutableMapping[str, Any]) -> None:
            sent.append(message)

        await app(scope, broken, send)
        start, end = sent
        assert start["status"] == 500
        assert b"hidden" not in end["body"]
        body = json.loads(end["body"])
        if family.error_shape is shape_a:
            (error,) = body["errors"]
            assert error.keys() == {"userMessage", "internalMessage", "code"}
            assert error["code"] == Internal.code
        else:
            assert body.keys() == {"statusCode", "message"}
            assert body["statusCode"] == 500
