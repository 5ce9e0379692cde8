"""Checks whether a gateway with the given settings can do its work (`domogate doctor`). The checks change nothing."""

import asyncio
from collections.abc import AsyncIterator, Iterator

from domogate.app.doctor.certificate import check_served_certificate
from domogate.app.doctor.database import DatabaseChecks
from domogate.app.doctor.findings import Finding, ok, problem, warning
from domogate.app.doctor.machine import check_machine
from domogate.app.doctor.network import check_gateway, check_network, report_other_gateway
from domogate.console.files import load_build
from domogate.settings import BadSettings, Settings, check_cluster, check_exposure, describe_unknown_proxy

__all__ = ["Finding", "examine"]


async def examine(settings: Settings) -> AsyncIterator[Finding]:
    """Yield the result of each check as soon as it is known."""
    gateway = await asyncio.to_thread(check_gateway, settings)
    for found in (*check_settings(settings), *check_machine(settings, gateway_at=gateway.runs_at)):
        yield found
    database = DatabaseChecks(settings, gateway_at=gateway.runs_at)
    async for found in database.run():
        yield found
    is_other = gateway.id is not None and database.gateways is not None and gateway.id not in database.gateways
    yield report_other_gateway(settings, gateway) if is_other else gateway.finding
    gateway_runs = gateway.runs_at is not None and not is_other
    if gateway_runs and gateway.certificate is not None:
        for found in check_served_certificate(settings, gateway.certificate):
            yield found
    async for found in check_network(settings, database.brokers, gateway_runs=gateway_runs):
        yield found


def check_settings(settings: Settings) -> Iterator[Finding]:
    """Check whether the settings fit together, and whether the pages are built.

    Each single value was already checked when the settings were loaded.
    """
    wrong = False
    for check in (check_exposure, check_cluster):
        try:
            check(settings)
        except BadSettings as bad:
            wrong = True
            for mistake in bad.mistakes:
                yield problem("settings", f"{mistake.setting} ({mistake.source}): {mistake.problem}", "Change this setting.")
    if settings.insecure_http:
        wrong = True
        yield warning(
            "settings",
            "insecure_http is set: tokens and passwords cross the network unencrypted.",
            "Set tls_certificate and tls_key, or use a proxy with TLS and set trusted_proxies.",
        )
    if (unknown := describe_unknown_proxy(settings)) is not None:
        wrong = True
        yield warning("settings", *unknown)
    if settings.serves_pages and load_build() is None:
        wrong = True
        yield warning("pages", "the pages for people are not built.", "In a checkout, run: ./dev web")
    if not wrong:
        given = len(settings.sources)
        yield ok("settings", f"{given} settings are given, and they fit together. The URL for clients is {settings.base_url}.")
