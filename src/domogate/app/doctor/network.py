"""Checks of the connections: the ports of the gateway, NATS, MQTT brokers, OpenWebNet gateways, and the mail server."""

import asyncio
import http.client
import ssl
from collections.abc import AsyncIterator, Iterable
from importlib.util import find_spec
from ipaddress import ip_address
from typing import NamedTuple

import msgspec

from domogate.app.doctor.findings import Finding, note, ok, problem, warning
from domogate.app.services import build_smtp_mail
from domogate.drivers import mqtt, openwebnet
from domogate.drivers.mqtt import MqttBroker
from domogate.drivers.mqtt.broker_connection import explain_error
from domogate.drivers.mqtt.discovery import FAILURES, try_connection
from domogate.edge.stack import GATEWAY_ID
from domogate.settings import Settings

SECONDS = 5.0
"""In seconds: the longest time for a connection to a port of the gateway or to an OpenWebNet gateway.

NATS gets up to twice this time. MQTT brokers and the mail server have longer limits of their own.
"""
_LONGEST_ANSWER = 65_536
_WARNINGS = {
    "writes": "it cannot write to its database",
    "clock": "its clock is far from the time that it last saw, so it prunes nothing",
    "backup": "the last backup failed, or the folder of the backups cannot be read",
}
"""The meaning of each warning of /readyz. The codes are kinds of problems (services/monitoring/problems.py)."""


class _Readiness(msgspec.Struct):
    """An answer of /readyz."""

    warnings: list[str] = []


class GatewayCheck(NamedTuple):
    """Whether a gateway answers on the port of the settings."""

    finding: Finding
    runs_at: str | None = None
    """The address at which a gateway answers. None if no gateway answers."""
    id: str | None = None
    """The id of this gateway in its database. None if the gateway did not send its id: older versions never send it."""
    certificate: bytes | None = None
    """The certificate (DER) with which this gateway answered. None without TLS."""


async def check_network(settings: Settings, stored: Iterable[MqttBroker], *, gateway_runs: bool) -> AsyncIterator[Finding]:
    """Check each connection and yield the results. `stored` has the MQTT brokers that an operator set in the console."""
    if settings.metrics_port:
        yield await asyncio.to_thread(check_metrics, settings.metrics_host, settings.metrics_port, gateway_runs)
    if settings.nats:
        yield await check_nats(settings)
    for broker in (*mqtt.DRIVER.settings_in(settings.drivers).brokers, *stored):
        yield await check_broker(broker)
    for bus in openwebnet.DRIVER.settings_in(settings.drivers).gateways:
        yield await check_bus(bus)
    if settings.smtp_host is not None:
        yield await check_mail(settings, settings.smtp_host)


def check_gateway(settings: Settings) -> GatewayCheck:
    """Ask the gateway on this machine whether it is ready. The certificate is not checked here."""
    host = _find_local_address(settings.host)
    where = f"{host}:{settings.port}"
    try:
        status, body, identity, certificate = _get(_connect(host, settings), "/readyz")
    except ConnectionRefusedError:
        return GatewayCheck(note("gateway", f"nothing listens on {where}: the gateway does not run here."))
    except (OSError, http.client.HTTPException) as error:
        return GatewayCheck(
            problem(
                "gateway",
                f"the program on {where} does not answer like a gateway: {error}.",
                "Find the program that uses this port (ss -ltnp), or choose another port.",
            )
        )
    runs_at = where if status in (http.client.OK, http.client.SERVICE_UNAVAILABLE) else None
    warnings = _read_warnings(body)
    if status == http.client.OK and not warnings:
        return GatewayCheck(ok("gateway", f"it runs on {where} and is ready."), runs_at, identity, certificate)
    says = f"it runs on {where} and answers /readyz with {status}: {body[:500]}"
    if warnings:
        says = f"it runs on {where} and is ready, but: {'; '.join(_WARNINGS.get(code, code) for code in warnings)}."
    advice = "The log of the gateway and the overview of the console say more."
    return GatewayCheck(warning("gateway", says, advice), runs_at, identity, certificate)


def report_other_gateway(settings: Settings, check: GatewayCheck) -> Finding:
    """Return a problem: the gateway on the port uses another database than these settings."""
    place = "this database" if settings.database else f"the data in {settings.data.absolute()}"
    return problem(
        "gateway",
        f"another gateway runs on {check.runs_at}: it does not use {place}.",
        "Stop that gateway, or choose another port for this one (the setting port).\n"
        "If it is the gateway that you mean, name its data folder with --data, or its settings with --config.",
    )


def _read_warnings(body: str) -> list[str]:
    """Return the codes of the warnings in an answer of /readyz."""
    try:
        return msgspec.json.decode(body, type=_Readiness).warnings
    except msgspec.MsgspecError:
        return []


def check_metrics(host: str, port: int, gateway_runs: bool) -> Finding:
    """Check that no other program uses the port of /metrics. The gateway itself may use it."""
    host = _find_local_address(host)
    where = f"{host}:{port}"
    find = "Find the program that uses this port (ss -ltnp), or change metrics_port or metrics_host."
    try:
        _, body, _, _ = _get(http.client.HTTPConnection(host, port, timeout=SECONDS), "/metrics")
    except ConnectionRefusedError:
        if gateway_runs:
            says = f"the gateway runs, but nothing listens on {where}."
            return warning("metrics", says, "Restart the gateway with these settings.")
        return ok("metrics", f"{where} is free.")
    except (OSError, http.client.HTTPException) as error:
        return problem("metrics", f"the program on {where} does not answer like a gateway: {error}.", find)
    if "domogate_" not in body:
        return problem("metrics", f"another program uses {where}, the port of /metrics.", find)
    if not gateway_runs:
        return problem("metrics", f"another gateway uses {where}, the port of /metrics.", find)
    return ok("metrics", f"the gateway serves /metrics on {where}.")


def _get(connection: http.client.HTTPConnection, path: str) -> tuple[int, str, str | None, bytes | None]:
    """Send a GET request. Return the status, the first bytes of the answer as text, the id of the gateway, and its certificate.

    The id is None if the answer does not name it, and the certificate is None without TLS.
    """
    try:
        connection.request("GET", path)
        certificate = connection.sock.getpeercert(binary_form=True) if isinstance(connection.sock, ssl.SSLSocket) else None
        answer = connection.getresponse()
        text = answer.read(_LONGEST_ANSWER).decode("utf-8", "replace").strip()
        return answer.status, text, answer.getheader(GATEWAY_ID.decode()), certificate
    finally:
        connection.close()


def _find_local_address(host: str) -> str:
    """Return the address on which this machine reaches a gateway that listens on `host`."""
    try:
        address = ip_address(host)
    except ValueError:  # a name
        return host
    return {4: "127.0.0.1", 6: "::1"}[address.version] if address.is_unspecified else host


def _connect(host: str, settings: Settings) -> http.client.HTTPConnection:
    if settings.tls_certificate is None:
        return http.client.HTTPConnection(host, settings.port, timeout=SECONDS)
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # `check_certificate` checks it, and nothing secret is sent.
    return http.client.HTTPSConnection(host, settings.port, timeout=SECONDS, context=context)


async def check_nats(settings: Settings) -> Finding:
    if find_spec("nats") is None:
        return problem("NATS", "the library nats-py is not installed.", "Install domogate[cluster].")
    from domogate.app.cluster import nats_access  # needs nats-py
    from domogate.fabric.connection import NatsConnection

    try:
        connection = NatsConnection(nats_access(settings), "domogate doctor")
    except OSError as error:  # from the files for TLS
        advice = "Check nats_tls_ca, nats_tls_certificate and nats_tls_key. Each of them must name a PEM file."
        return problem("NATS", f"no connection: {explain_error(error)}.", advice)
    try:
        async with asyncio.timeout(SECONDS):
            await connection.start()
        await connection.wait_connected(SECONDS)
    except TimeoutError:
        pass
    finally:
        await connection.stop()
    if connection.server:
        return ok("NATS", f"{connection.server} answers.")
    return problem("NATS", f"no connection: {connection.problem}.", "Check nats and its credentials, and the NATS servers.")


async def check_broker(broker: MqttBroker) -> Finding:
    name = f"MQTT broker {broker.name}"
    try:
        await try_connection(broker)
    except FAILURES as error:
        advice = "Check its address, user and password, and whether the broker runs."
        return problem(name, f"{broker.url} cannot be used: {explain_error(error)}.", advice)
    return ok(name, f"{broker.url} answers and accepts the user.")


async def check_bus(bus: openwebnet.OpenWebNetGateway) -> Finding:
    name = f"OpenWebNet gateway {bus.name}"
    try:
        async with asyncio.timeout(SECONDS):
            _, writer = await asyncio.open_connection(bus.host, bus.port)
    except (OSError, TimeoutError) as error:
        advice = "Check its address, and whether it allows connections from this machine."
        return problem(name, f"{bus.address} cannot be reached: {explain_error(error)}.", advice)
    writer.close()
    return ok(name, f"{bus.address} accepts connections. The password was not tried.")


async def check_mail(settings: Settings, host: str) -> Finding:
    where = f"{host}:{settings.smtp_port}"
    try:
        await build_smtp_mail(settings, host).try_connection()
    except OSError as error:
        return problem("mail", f"{where} cannot be used: {error}.", "Check the settings that begin with smtp_.")
    return ok("mail", f"{where} accepts mails of this gateway.")
