"""The contract: nine families, each declared in one file. This file has the only list of families."""

from domogate.families import (
    doorentry_a,
    doorentry_b,
    echo,
    emergency_lighting,
    homeauto,
    homectl,
    multisocket,
    thermostat,
    touchpanel,
)
from domogate.families._family import Family

FAMILIES: tuple[Family, ...] = (
    homectl.FAMILY,
    homeauto.FAMILY,
    doorentry_a.FAMILY,
    doorentry_b.FAMILY,
    thermostat.FAMILY,
    touchpanel.FAMILY,
    multisocket.FAMILY,
    emergency_lighting.FAMILY,
    echo.FAMILY,
)
