"""A contradictory or incomplete declaration fails when it is imported."""

from datetime import date
from typing import Any

import msgspec
import pytest

from domogate.common.http_messages import Answer
from domogate.domain import faults
from domogate.domain.devices import DeviceKind
from domogate.domain.people import Scope
from domogate.families import FAMILIES
from domogate.families._call import Call, Services
from domogate.families._family import GET, NO_SCOPE, POST, DeclarationError, Operation, any_of
from domogate.families._ladder import LADDER, OUTSIDE, status_of


async def _handler(services: Services, call: Call) -> Answer:
    raise AssertionError("never called here")


def _declare(**differences: Any) -> Operation:
    declaration: dict[str, Any] = {
        "id": "E0",
        "summary": "An example",
        "method": GET,
        "path": "plants/{plantId:plant}/modules/{moduleId:module}",
        "handler": _handler,
        "scopes": any_of(Scope.LIGHT_READ),
        "kinds": frozenset({DeviceKind.LIGHT}),
        "answer": None,
        "errors": frozenset({400, 401, 404, 408}),
    }
    return Operation(**declaration | differences)


class TestAnOperation:
    def test_as_it_should_be_is_accepted(self) -> None:
        assert [parameter.role for parameter in _declare().parameters] == ["plant", "module"]

    def test_answers_200_with_a_body_that_has_no_etag_unless_it_says_otherwise(self) -> None:
        operation = _declare()
        assert (operation.status, operation.may_be_empty, operation.has_etag, operation.lifecycle) == (200, False, False, None)

    def test_may_list_469_and_470_and_no_other_status(self) -> None:
        operation = _declare(path="plants", kinds=frozenset(), errors=frozenset({469, 470}))
        assert operation.errors == {469, 470}

    @pytest.mark.parametrize(
        ("differences", "complaint"),
        [
            ({"path": "plants/{plantId:house}"}, "unknown roles"),
            ({"path": "plants/{plantId}"}, "each role occurs once"),
            ({"path": "plants/{a:plant}/{b:plant}"}, "each role occurs once"),
            ({"path": "modules/{moduleId:module}"}, "needs a plant parameter"),
            ({"kinds": frozenset()}, "`kinds` is needed"),
            ({"path": "plants/{plantId:plant}"}, "`kinds` is needed"),
            ({"method": POST}, "POST needs a body"),
            ({"body": dict}, "POST needs a body"),
            ({"errors": frozenset({400, 401, 404, 418})}, "no fault has the status"),
            ({"errors": frozenset({400, 401, 404, 469})}, "469 and 470 must be listed together"),
            ({"errors": frozenset({400, 401, 404, 470})}, "469 and 470 must be listed together"),
            ({"errors": frozenset({400, 404, 408})}, "lists no status for NotYourPlant"),
            ({"errors": frozenset({400, 401, 403, 408})}, "lists no status for DeviceOffline"),
            ({"errors": frozenset({401})}, "lists no status for MalformedId"),
            ({"id": "X0"}, "an id with X"),
            ({"extension": "it was needed"}, "an id with X"),
            ({"path": "plants/{plantId:plant}/{ambientId:ambient}", "kinds": frozenset()}, "`kinds` is needed"),
        ],
    )
    def test_that_contradicts_itself_is_refused(self, differences: dict[str, Any], complaint: str) -> None:
        with pytest.raises(DeclarationError, match=complaint):
            _declare(**differences)

    def test_that_forgets_its_scope_is_refused(self) -> None:
        with pytest.raises(DeclarationError):
            any_of()
        declare: Any = Operation
        with pytest.raises(TypeError):
            declare(id="E0", summary="", method=GET, path="x", handler=_handler, errors=frozenset(), answer=None)


class TestAFamily:
    @pytest.mark.parametrize(
        ("differences", "complaint"),
        [
            ({"prefix": "nothing"}, "prefix"),
            ({"prefix": "/x/"}, "prefix"),
            ({"operations": ()}, "needs operations"),
            ({"tokens": frozenset()}, "needs operations, token kinds"),
            ({"operations": (FAMILIES[0].operations[0], FAMILIES[0].operations[0])}, "twice"),
        ],
    )
    def test_that_contradicts_itself_is_refused(self, differences: dict[str, Any], complaint: str) -> None:
        with pytest.raises(DeclarationError, match=complaint):
            msgspec.structs.replace(FAMILIES[0], **differences)

    def test_is_deprecated_since_the_day_of_the_specification(self) -> None:
        lifecycles = {family.lifecycle_of(one) for family in FAMILIES for one in family.operations}
        assert {lifecycle.word for lifecycle in lifecycles} == {"current", "legacy", "deprecated"}
        assert {one.deprecated_since for one in lifecycles if one.word == "deprecated"} == {date(2026, 11, 15)}
        assert {one.deprecated_since for one in lifecycles if one.word != "deprecated"} == {None}

    def test_has_a_root_and_a_slug_of_its_own(self) -> None:
        assert len({family.root for family in FAMILIES}) == len({family.slug for family in FAMILIES}) == 9

    def test_the_specifications_operations_are_twenty_and_the_others_are_marked(self) -> None:
        ids = [(one.id, bool(one.extension)) for family in FAMILIES for one in family.operations]
        assert sorted(name for name, extension in ids if not extension) == sorted(f"E{number}" for number in range(1, 21))
        assert sorted(name for name, extension in ids if extension) == [f"X{number}" for number in range(1, 10)]

    def test_only_the_demonstration_needs_no_scope(self) -> None:
        assert [one.id for family in FAMILIES for one in family.operations if one.scopes == NO_SCOPE] == ["E20"]


class TestTheLadder:
    def test_knows_every_fault(self) -> None:
        every = {kind for kind in vars(faults).values() if isinstance(kind, type) and issubclass(kind, faults.Fault)}
        assert set(LADDER) == every - {faults.Fault}

    def test_gives_every_operation_a_status_for_every_fault_that_can_reach_it(self) -> None:
        anywhere = (faults.KeyRefused, faults.TokenRefused, faults.ScopeMissing, faults.TooManyRequests, faults.Internal)
        for family in FAMILIES:
            for operation in family.operations:
                for kind in anywhere:
                    assert status_of(kind, operation.errors) in operation.errors | OUTSIDE

    @pytest.mark.parametrize(
        ("kind", "listed", "status"),
        [
            (faults.NotYourPlant, {401, 403}, 403),
            (faults.NotYourPlant, {401, 404}, 401),
            (faults.NoSuchPlant, {400, 401}, 400),
            (faults.MalformedId, {401, 404}, 404),
            (faults.ValueOutOfRange, {400, 442}, 442),
            (faults.ValueOutOfRange, {400}, 400),
            (faults.DeviceTimeout, {404, 408, 500}, 408),
            (faults.DeviceTimeout, {404, 500}, 500),
            (faults.DeviceTimeout, {404}, 404),
            (faults.DeviceOffline, {404, 500}, 404),
            (faults.DeviceOffline, {400, 500}, 500),
            (faults.NoSuchModule, {400, 401}, 400),
            (faults.NoSuchModule, {400, 404}, 404),
            (faults.NoSuchAmbient, {400, 404}, 404),
            (faults.NoSuchAmbient, {400}, 400),
            (faults.NoPlug, {400, 404}, 404),
            (faults.NotASite, {400, 404}, 404),
            (faults.NotASite, {400}, 400),
            (faults.UnknownReference, {400, 404}, 404),
            (faults.UnknownReference, {400}, 400),
            (faults.NoSuchSubscription, {400, 404}, 404),
            (faults.NoSuchSubscription, {400}, 400),
            (faults.NoSuchPlant, {400, 404}, 404),
            (faults.SubscriptionExists, {400, 409}, 409),
            (faults.OrderKeyTaken, {400, 409}, 409),
            (faults.MalformedId, {400, 404}, 400),
            (faults.MalformedRequest, {400}, 400),
            (faults.NotAcceptable, {406}, 406),
            (faults.DeviceRefused, {404, 500}, 500),
            (faults.PasswordToRenew, {469, 470}, 469),
            (faults.TermsToAccept, {469, 470}, 470),
        ],
    )
    def test_takes_the_first_status_that_is_listed(self, kind: type[faults.Fault], listed: set[int], status: int) -> None:
        assert status_of(kind, frozenset(listed)) == status

    @pytest.mark.parametrize(
        ("kind", "status"),
        [
            (faults.KeyRefused, 401),
            (faults.TokenRefused, 401),
            (faults.ScopeMissing, 401),
            (faults.TooManyRequests, 429),
            (faults.WrongUrl, 404),
            (faults.WrongMethod, 405),
            (faults.BodyTooLarge, 413),
            (faults.EchoUnreachable, 502),
            (faults.EchoTimeout, 504),
            (faults.Internal, 500),
        ],
    )
    def test_answers_some_statuses_that_an_operation_does_not_list(self, kind: type[faults.Fault], status: int) -> None:
        assert status_of(kind, frozenset({400})) == status

    def test_never_answers_what_only_some_operations_may_where_they_do_not_list_it(self) -> None:
        with pytest.raises(LookupError):
            status_of(faults.PasswordToRenew, frozenset({400, 401}))

    def test_codes_are_one_to_a_fault(self) -> None:
        codes = [fault.code for fault in LADDER]
        assert len(set(codes)) == len(codes)
