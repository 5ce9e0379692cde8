"""Every status that an operation lists is reached by a real request, or the table says why it cannot occur."""

from collections.abc import Callable

import httpx
import pytest

from support.estate_view import asked_of
from support.gateway import Gateway
from support.http import expect_nothing, expect_refusal
from support.spec_operations import BY_NAME, OPERATIONS, Operation
from support.store_access import simulated

NOWHERE = "00000000-0000-4000-8000-000000000000"
Cause = Callable[[Gateway, Operation], httpx.Response]


def well(gateway: Gateway, operation: Operation) -> httpx.Response:
    who, target = gateway.case(operation)
    return gateway.send(operation, target, who=who)


def nothing_to_list(gateway: Gateway, operation: Operation) -> httpx.Response:
    return gateway.send(operation, who=gateway.nobody)


def site_without_modules(gateway: Gateway, operation: Operation) -> httpx.Response:
    site = gateway.estate.find_plants(lambda plant: plant.is_site and not plant.modules("emergency controller"))[0]
    return gateway.send(operation, {"plant": site.id}, who=gateway.a_person_of(site))


def malformed(gateway: Gateway, operation: Operation) -> httpx.Response:
    who, target = gateway.case(operation)
    return gateway.send(operation, who=who, path=operation.fill({**target, "plant": "not-an-id"}))


def no_such_reference(gateway: Gateway, operation: Operation) -> httpx.Response:
    return gateway.send(operation, {"reference": "no-such-reference"})


def no_token(gateway: Gateway, operation: Operation) -> httpx.Response:
    _, target = gateway.case(operation)
    return gateway.send(operation, target, token=None)


def someone_elses(gateway: Gateway, operation: Operation) -> httpx.Response:
    _, target = gateway.case(operation)
    return gateway.send(operation, target, who=gateway.a_stranger_to(gateway.estate.plant(target["plant"])))


def no_such_plant(gateway: Gateway, operation: Operation) -> httpx.Response:
    who, target = gateway.case(operation)
    return gateway.send(operation, {**target, "plant": NOWHERE}, who=who)


def no_xml_here(gateway: Gateway, operation: Operation) -> httpx.Response:
    who, target = gateway.case(operation)
    return gateway.send(operation, target, who=who, headers={"Accept": "text/xml"})


def unknown_order(gateway: Gateway, operation: Operation) -> httpx.Response:
    who, target = gateway.case(operation)
    return gateway.send(operation, target, who=who, body=b'{"status": "stop"}')


def with_device(how: str) -> Cause:
    def cause(gateway: Gateway, operation: Operation) -> httpx.Response:
        who, target = gateway.case(operation)
        device = asked_of(gateway.estate.plant(target["plant"]), target)[0]
        with simulated(gateway, device["id"], how):
            return gateway.send(operation, target, who=who)

    return cause


def with_standing(standing: str) -> Cause:
    def cause(gateway: Gateway, operation: Operation) -> httpx.Response:
        _, target = gateway.case(operation)
        who = next(mail for mail in gateway.people if gateway.estate.standing(mail) == standing)
        return gateway.send(operation, target, who=who)

    return cause


slow, refusing = with_device("slow"), with_device("refusing")
password, terms = with_standing("password expired"), with_standing("terms expired")
_HOMECTL: dict[int, Cause | str] = {
    200: well,
    400: malformed,
    403: someone_elses,
    404: no_such_plant,
    406: no_xml_here,
    500: slow,
}
_NO_DEVICE = "no device is asked: what is shown is stored"
_NO_INPUT = "there is no parameter and no body that could be wrong"
_OWN_MISTAKE = "only a mistake of our own would be an internal error: a slow device is 408 here"

_THERMOSTAT: dict[int, Cause | str] = {
    200: well,
    400: malformed,
    401: someone_elses,
    404: with_device("offline"),
    408: slow,
    469: password,
    470: terms,
    500: _OWN_MISTAKE,
}
CAUSES: dict[str, dict[int, Cause | str]] = {
    "E1": {**_HOMECTL, 500: refusing},
    "E2": _HOMECTL,
    "E3": {**_HOMECTL, 500: f"only a mistake of our own would be an internal error: {_NO_DEVICE}"},
    "E4": _HOMECTL,
    "E5": {200: well, 400: malformed, 401: no_token, 403: someone_elses, 404: no_such_plant, 442: unknown_order},
    "E6": {200: well, 204: nothing_to_list, 400: _NO_INPUT, 401: no_token},
    "E7": {200: well, 401: no_token, 403: someone_elses, 404: no_such_plant},
    "E8": {200: well, 400: malformed, 401: no_token, 403: someone_elses, 404: with_device("offline")},
    "E9": {
        200: well,
        400: malformed,
        401: someone_elses,
        404: no_such_plant,
        408: _NO_DEVICE,
        469: password,
        470: terms,
        500: _OWN_MISTAKE,
    },
    "E10": {200: well, 204: nothing_to_list, 400: _NO_INPUT, 401: no_token, 404: "a list without entries is 204"},
    "E11": {200: well, 400: malformed, 401: someone_elses, 404: no_such_plant, 408: slow},
    "E12": _THERMOSTAT,
    "E13": _THERMOSTAT,
    "E14": {
        200: well,
        204: nothing_to_list,
        400: _NO_INPUT,
        401: no_token,
        404: "a list without entries is 204",
        408: _NO_DEVICE,
        469: password,
        470: terms,
        500: _OWN_MISTAKE,
    },
    "E15": {200: well, 400: malformed, 401: someone_elses, 404: with_device("offline"), 408: slow, 500: _OWN_MISTAKE},
    "E16": {200: well, 401: someone_elses, 404: no_such_plant},
    "E17": {200: well, 204: nothing_to_list, 401: no_token},
    "E18": {200: well, 204: site_without_modules, 400: no_such_plant, 401: someone_elses},
    "E19": {200: well, 400: no_such_reference, 401: no_token},
    "E20": {200: well},
}


def test_every_listed_status_has_a_cause_or_a_reason_to_have_none() -> None:
    assert {name: causes.keys() for name, causes in CAUSES.items()} == {
        operation.name: operation.statuses for operation in OPERATIONS
    }


@pytest.mark.parametrize(
    ("name", "status"),
    [
        pytest.param(name, status, marks=[pytest.mark.slow] if cause is slow else [])
        for name, causes in CAUSES.items()
        for status, cause in causes.items()
        if callable(cause)
    ],
)
def test_a_real_request_reaches_it(workshop: Gateway, name: str, status: int) -> None:
    operation, cause = BY_NAME[name], CAUSES[name][status]
    assert callable(cause)
    answer = cause(workshop, operation)
    if status == 204:
        expect_nothing(operation, answer)
    elif status == 200:
        assert answer.status_code == 200, answer.text
    else:
        expect_refusal(operation, answer, status)
        assert answer.reason_phrase, "a status without a reason phrase"
