"""Builds the management API from the parts of a gateway. This module is imported at the first request for this API."""

from typing import TYPE_CHECKING

from domogate import __version__, management
from domogate.app.backups import make_backup
from domogate.app.estate_files import EstateFiles
from domogate.app.parts import new_subscription
from domogate.app.serve_surface import serve_surface
from domogate.app.services import SigningKeyAdministration
from domogate.app.settings_in_force import list_settings
from domogate.drivers import check_options
from domogate.edge.logs import recent_lines
from domogate.edge.metrics import BOUNDS
from domogate.edge.stack import ASGIApp
from domogate.http_api.credentials import OperatorToken
from domogate.services.plants.editing import PlantEditor

if TYPE_CHECKING:
    from domogate.app.gateway import Gateway


def build_surfaces(gateway: "Gateway") -> dict[bytes, ASGIApp]:
    operator_token = OperatorToken(gateway.verifier, gateway.store, gateway.audit)
    return {b"manage": serve_surface(gateway.settings, management.SURFACE, _build_services(gateway), operator_token)}


def _build_services(gateway: "Gateway") -> management.ManagementServices:
    settings = gateway.settings
    estate = EstateFiles(gateway.store, gateway.hasher, check_options(gateway.drivers.settings))
    return management.ManagementServices(
        people=gateway.people,
        store=gateway.store,
        clock=gateway.clock,
        audit=gateway.audit,
        new_subscription=new_subscription,
        signing_keys=SigningKeyAdministration(gateway.store, gateway.clock, settings.signing_algorithm),
        devices=management.Devices(
            gateway.read_model,
            gateway.control,
            gateway.scenes,
            gateway.fault_injector,
            gateway.history,
            gateway.driving.list_drivers,
        ),
        hub=gateway.hub,
        webhooks=gateway.webhooks,
        make_backup=lambda: make_backup(gateway.store, settings.data),
        status=management.Status(
            version=__version__,
            monitor=gateway.monitor,
            duration_bounds=BOUNDS,
            is_database_reachable=lambda: gateway.store.is_reachable,
            clock_check=gateway.clock_check,
            find_warnings=gateway.maintenance.find_warnings,
            read_cluster=gateway.placement.read_status,
            list_settings=lambda: list_settings(settings),
            list_log_lines=recent_lines.list,
        ),
        estate=estate,
        editor=PlantEditor(gateway.store, estate.check_plant),
        drivers=gateway.drivers,
    )
