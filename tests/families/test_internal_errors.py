"""An internal error is a 500 in the shape of its family."""

import json
import re
from collections.abc import MutableMapping
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from domogate.app.failures import build_failure_answers
from domogate.common.http_messages import Request
from domogate.domain.faults import Internal
from domogate.edge.direct import Reply
from domogate.edge.metrics import Metrics
from domogate.edge.stack import Edge
from domogate.families import FAMILIES
from domogate.families._errors import shape_a
from domogate.families._family import Family, Operation
from domogate.families._serve import FamilyApp
from domogate.ports import StoreUnavailable


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


class TestFailuresBeforeTheFamily:
    """The check of Origin fails, so the edge itself answers."""

    @pytest.mark.parametrize(
        ("error", "status", "wait"),
        [(StoreUnavailable(), 503, "1"), (RuntimeError("hidden"), 500, None)],
        ids=["unavailable", "failed"],
    )
    @pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
    async def test_both_ways_answer_in_the_familys_shape(
        self, family: Family, error: Exception, status: int, wait: str | None
    ) -> None:
        async def is_allowed_origin(_: bytes) -> bool:
            raise error

        broken: Any = FailingCheck()
        edge = Edge(
            broken,
            is_allowed_origin=is_allowed_origin,
            is_ready=lambda: True,
            metrics=Metrics(),
            access_log=False,
            failure_answers=build_failure_answers(()),
        )
        path, headers = f"{family.prefix}/x", [(b"origin", b"https://app.example")]
        sent: list[MutableMapping[str, Any]] = []

        async def send(message: MutableMapping[str, Any]) -> None:
            sent.append(message)

        scope = {"type": "http", "path": path, "raw_path": path.encode(), "headers": headers}
        await edge({**scope, "method": "GET"}, None, send)
        await edge({**scope, "method": "HEAD"}, None, send)
        start, end, head_start, head_end = sent
        replies: list[Reply] = []
        await edge.answer(Request("GET", path.encode(), headers, ""), broken, replies.append)
        (direct,) = replies
        assert (start["status"], head_start["status"], direct[0]) == (status, status, status)
        assert (direct[2], head_end["body"]) == (end["body"], b"")
        names = dict(start["headers"])
        assert names[b"content-type"] == b"application/json"
        assert names.get(b"retry-after", b"").decode() == (wait or "")
        assert b"x-fault: 5999\r\n" in direct[1]
        body = json.loads(end["body"])
        if family.error_shape is shape_a:
            (item,) = body["errors"]
            assert (item["internalMessage"], item["code"]) == (f"{status} Internal", Internal.code)
        else:
            assert body.keys() == {"statusCode", "message"}
            assert body["statusCode"] == status
