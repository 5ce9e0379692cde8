"""Injects faults on demand for developers: only in simulated modules of their own homes, and only for a short time."""

from domogate.domain.ids import Id
from domogate.domain.injections import InjectedFault
from domogate.domain.people import Principal
from domogate.ports import Clock
from domogate.services.developer.self_service import SelfService
from domogate.services.homes.homes import Homes
from domogate.services.plants.fault_injection import FaultInjector
from domogate.services.refusals import Forbidden
from domogate.services.rights.access import Role

LONGEST = 60.0
"""The longest time, in seconds, for which a developer can inject a fault."""


class DeveloperFaults:
    def __init__(self, homes: Homes, injector: FaultInjector, self_service: SelfService, clock: Clock) -> None:
        self._homes = homes
        self._injector = injector
        self._self_service = self_service
        self._clock = clock

    async def inject(
        self, principal: Principal, home_id: Id, module_id: Id, fault: InjectedFault, seconds: float, *, address: str
    ) -> float:
        """Inject the fault for `seconds`, but not longer than `LONGEST`. Return the time at which the fault ends.

        Raises Forbidden if self-service is not allowed, the person does not own the home, or the module is not simulated.
        Raises NoSuchPlant, NotYourPlant or NoSuchModule if the person cannot see the home or the module. Raises
        ValueOutOfRange if the fault needs a value, because developers cannot give a value.
        """
        await self._check(principal, home_id, module_id)
        until = self._clock.now() + min(seconds, LONGEST)
        await self._injector.inject(home_id, module_id, fault, until=until, who=principal.user_id, address=address)
        return until

    async def clear(self, principal: Principal, home_id: Id, module_id: Id, *, address: str) -> None:
        """Clear all injected faults of the module.

        Raises Forbidden if self-service is not allowed, the person does not own the home, or the module is not simulated.
        Raises NoSuchPlant, NotYourPlant or NoSuchModule if the person cannot see the home or the module.
        """
        await self._check(principal, home_id, module_id)
        await self._injector.clear(home_id, module_id, who=principal.user_id, address=address)

    async def _check(self, principal: Principal, home_id: Id, module_id: Id) -> None:
        self._self_service.check_enabled()
        home = await self._homes.open(principal, home_id)
        module = home.find_module(module_id).module
        if home.role is not Role.OWNER or not module.is_simulated:
            raise Forbidden("You can inject faults only into simulated modules of a home that you own.")
