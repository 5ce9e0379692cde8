"""Which injected fault is raised, for which calls and for how long. End-to-end tests check the statuses."""

from typing import Any

import pytest

from domogate.domain.devices import DeviceKind
from domogate.domain.faults import DeviceTimeout, Fault, Internal, PasswordToRenew, TermsToAccept
from domogate.domain.ids import Id
from domogate.domain.injections import InjectedFault, Injection
from domogate.domain.plants import Ambient, Module
from domogate.families import FAMILIES
from domogate.families._call import Call
from domogate.families._injected import raise_injected

BY_ID = {operation.id: operation for family in FAMILIES for operation in family.operations}
LAMP, PLUG, ELSEWHERE, ROOM = (Id(f"00000000-0000-4000-8000-00000000000{number}") for number in range(1, 5))
NOW = 1000.0
ANYBODY: Any = None
"""Injected faults do not depend on the caller."""


def told(operation: str, *injections: Injection, module_id: Id | None = None) -> type[Fault] | None:
    call = Call(ANYBODY, "")
    call.ambient = Ambient(
        ROOM, ROOM, "Room", "other", (Module(PLUG, PLUG, "Plug", DeviceKind.PLUG), Module(LAMP, LAMP, "Lamp", DeviceKind.LIGHT))
    )
    try:
        raise_injected(injections, BY_ID[operation], call, module_id, NOW)
    except Fault as fault:
        return type(fault)
    return None


def of_all(*faults: InjectedFault, **how: Any) -> list[Injection]:
    return [Injection(fault, **how) for fault in faults]


class TestWhatIsTold:
    @pytest.mark.parametrize(
        ("fault", "kind"),
        [
            (InjectedFault.PASSWORD, PasswordToRenew),
            (InjectedFault.TERMS, TermsToAccept),
            (InjectedFault.INTERNAL, Internal),
            (InjectedFault.TIMEOUT, DeviceTimeout),
        ],
    )
    def test_each_is_the_fault_it_stands_for(self, fault: InjectedFault, kind: type[Fault]) -> None:
        assert told("E12", Injection(fault)) is kind

    def test_faults_of_devices_are_not_told_at_the_door(self) -> None:
        devices = set(InjectedFault) - {InjectedFault(word) for word in ("408", "469", "470", "500")}
        assert len(devices) == 5
        assert told("E12", *of_all(*devices)) is None

    def test_of_several_the_first_by_the_order_of_checks(self) -> None:
        password, terms, internal, timeout = of_all(
            InjectedFault.PASSWORD, InjectedFault.TERMS, InjectedFault.INTERNAL, InjectedFault.TIMEOUT
        )
        assert told("E12", timeout, internal, terms, password) is PasswordToRenew
        assert told("E12", timeout, internal, terms) is TermsToAccept
        assert told("E12", timeout, internal) is Internal

    def test_469_and_470_only_where_they_are_listed(self) -> None:
        both = of_all(InjectedFault.PASSWORD, InjectedFault.TERMS)
        about_a_plant = [
            name for name, operation in BY_ID.items() if operation.parameters and "{reference" not in operation.path
        ]
        assert [name for name in about_a_plant if told(name, *both)] == ["E9", "E12", "E13", "X1", "X4", "X9"]
        assert told("E8", *both, Injection(InjectedFault.TIMEOUT)) is DeviceTimeout

    def test_no_message_has_a_word_that_a_known_client_takes_for_a_token(self) -> None:
        for word in ("408", "469", "470", "500"):
            with pytest.raises(Fault, match="injected") as raised:
                raise_injected([Injection(InjectedFault(word))], BY_ID["E12"], Call(ANYBODY, ""), LAMP, NOW)
            assert "expired" not in raised.value.message


class TestWhomItTouches:
    def test_a_modules_only_what_names_the_module(self) -> None:
        injection = Injection(InjectedFault.INTERNAL, module_id=LAMP)
        assert told("E8", injection, module_id=LAMP) is Internal
        assert told("E8", injection, module_id=ELSEWHERE) is None
        for about_the_plant in ("E3", "E7", "E9", "E16", "E18", "X4"):
            assert told(about_the_plant, injection) is None

    def test_a_plugs_also_e1_on_its_ambient_and_a_lamps_there_not(self) -> None:
        assert told("E1", Injection(InjectedFault.TIMEOUT, module_id=PLUG)) is DeviceTimeout
        assert told("E1", Injection(InjectedFault.TIMEOUT, module_id=LAMP)) is None
        assert told("E1", Injection(InjectedFault.TIMEOUT, module_id=ELSEWHERE)) is None

    def test_only_until_it_is_over(self) -> None:
        assert told("E8", Injection(InjectedFault.INTERNAL, until=NOW + 0.1)) is Internal
        assert told("E8", Injection(InjectedFault.INTERNAL, until=NOW)) is None
        assert told("E8", Injection(InjectedFault.INTERNAL, until=NOW), Injection(InjectedFault.TIMEOUT)) is DeviceTimeout
