"""The compose files: they follow the specification, name what exists, and give the gateways settings that they accept."""

import json
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from functools import cache
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import msgspec
import nats
import pytest
import yaml

from domogate.app.doctor.network import check_nats
from domogate.identity.secret_keys import SecretKeys
from domogate.settings import Settings, load_settings
from domogate.settings.exposure import check_exposure
from support.dockerfile import read_dockerfile
from support.named_code import ROOT
from support.nats_server import nats_server

pytestmark = pytest.mark.slow

FOLDER = ROOT / "deploy" / "compose"
FILES = sorted(FOLDER.glob("*.yaml"))
PUBLIC_URL = "https://gateway.example.com"
IMAGE = read_dockerfile(ROOT / "deploy" / "container" / "Dockerfile")[-1].environment("")


@cache
def read(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(re.sub(r"\$\{DOMOGATE_PUBLIC_URL:\?[^}]*\}", PUBLIC_URL, path.read_text()))
    return document


def each_service(gateways: bool | None = None) -> list[Any]:
    """All services of all files. `gateways` chooses only gateways, or only the others."""
    return [
        pytest.param(path, name, id=f"{path.stem}-{name}")
        for path in FILES
        for name, service in read(path)["services"].items()
        if gateways is None or gateways == (service["image"] == "domogate")
    ]


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that make-secrets fills."""
    folder = tmp_path_factory.mktemp("compose")
    shutil.copy(FOLDER / "make-secrets", folder)
    subprocess.run([folder / "make-secrets", "gateway.example.com"], check=True, capture_output=True, timeout=60)
    return folder / "secrets"


def load(service: dict[str, Any], secrets: Path) -> Settings:
    """The settings of a gateway, with a folder that has its secrets instead of /run/secrets."""
    own = Path(tempfile.mkdtemp(dir=secrets.parent))
    for name in service["secrets"]:
        shutil.copy(secrets / name, own)
    given = {name: str(value).replace("/run/secrets", str(own)) for name, value in service["environment"].items()}
    return load_settings({}, {**IMAGE, **given})


class TestFiles:
    @pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
    def test_they_follow_the_specification(self, path: Path) -> None:
        program = Path(sys.executable).with_name("check-jsonschema")
        command = [str(program), "--builtin-schema", "vendor.compose-spec", str(path)]
        told = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        assert told.returncode == 0, told.stdout + told.stderr

    @pytest.mark.parametrize(("path", "name"), each_service())
    def test_each_name_and_each_mounted_file_exists(self, path: Path, name: str) -> None:
        document = read(path)
        service = document["services"][name]
        for secret in service.get("secrets", ()):
            assert (secret if isinstance(secret, str) else secret["source"]) in document["secrets"]
        assert set(service.get("networks", ())) <= document.get("networks", {}).keys()
        assert set(service.get("depends_on", ())) <= document["services"].keys()
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            if source.startswith("."):
                assert (FOLDER / source).exists(), source
            else:
                assert source in document["volumes"]
        if "build" in service:
            assert (FOLDER / service["build"]["context"] / service["build"]["dockerfile"]).is_file()

    @pytest.mark.parametrize(("path", "name"), each_service())
    def test_each_service_restarts_and_cannot_get_more_rights(self, path: Path, name: str) -> None:
        service = read(path)["services"][name]
        assert service["restart"] == "unless-stopped"
        assert service["security_opt"] == ["no-new-privileges:true"]
        if name != "postgres":  # its image changes owners at the first start
            assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])

    @pytest.mark.parametrize(("path", "name"), each_service(gateways=False))
    def test_each_other_service_has_a_health_check_and_an_image_with_a_version(self, path: Path, name: str) -> None:
        service = read(path)["services"][name]
        assert service["healthcheck"]["test"][0] == "CMD"
        assert re.search(r":v?\d", service["image"])

    def test_the_versions_of_postgres_and_nats_are_the_tested_ones(self) -> None:
        services = read(FOLDER / "cluster.yaml")["services"]
        support = (ROOT / "SUPPORT.md").read_text()
        for name, row in (("postgres", "PostgreSQL, for a cluster"), ("nats", "NATS, for a cluster")):
            version = services[name]["image"].split(":")[1].split("-")[0]
            assert f"| {row} | {version} |" in support


class TestSecrets:
    def test_the_script_makes_each_secret_that_the_files_name(self, secrets: Path) -> None:
        named = {Path(one["file"]).name for path in FILES for one in read(path)["secrets"].values()}
        assert {path.name for path in secrets.iterdir()} == named

    def test_only_the_owner_of_the_folder_reaches_them(self, secrets: Path) -> None:
        assert stat.S_IMODE(secrets.stat().st_mode) == 0o700
        assert {stat.S_IMODE(path.stat().st_mode) for path in secrets.iterdir()} == {0o644}

    def test_a_second_run_keeps_them(self, secrets: Path) -> None:
        before = {path: path.read_bytes() for path in secrets.iterdir()}
        subprocess.run([secrets.parent / "make-secrets", "other.example.com"], check=True, capture_output=True, timeout=60)
        assert {path: path.read_bytes() for path in secrets.iterdir()} == before

    def test_git_and_the_engine_do_not_see_them(self) -> None:
        command = ["git", "check-ignore", "--quiet", "deploy/compose/secrets/domogate-secret-key"]
        assert subprocess.run(command, cwd=ROOT, check=False, timeout=60).returncode == 0


class TestGateways:
    @pytest.mark.parametrize(("path", "name"), each_service(gateways=True))
    def test_they_accept_their_settings(
        self, path: Path, name: str, secrets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        service = read(path)["services"][name]
        settings = load(service, secrets)
        check_exposure(settings)
        assert settings.public_url == PUBLIC_URL
        assert settings.secret_key_file is not None
        monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(settings.secret_key_file.parent))
        keys = SecretKeys(tmp_path, file=settings.secret_key_file)
        assert keys.choose_key(None)  # the file has a key, and its mode is accepted
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(("path", "name"), each_service(gateways=True))
    def test_they_get_no_more_secrets_than_they_use(self, path: Path, name: str, secrets: Path) -> None:
        service = read(path)["services"][name]
        settings = load(service, secrets)
        used = {Path(source.rpartition(" ")[2]).name for source in settings.sources.values() if "credential" in source}
        tls = (settings.tls_certificate, settings.tls_key)
        assert set(service["secrets"]) == used | {path.name for path in tls if path}

    def test_one_gateway_publishes_the_port_on_which_it_listens(self, secrets: Path) -> None:
        service = read(FOLDER / "compose.yaml")["services"]["gateway"]
        assert service["ports"] == [f"443:{load(service, secrets).port}"]

    def test_those_of_a_cluster_trust_the_proxy_only_and_the_proxy_knows_them(self, secrets: Path) -> None:
        document = read(FOLDER / "cluster.yaml")
        services, upstream = document["services"], (FOLDER / "upstream.conf").read_text()
        gateways = {name: service for name, service in services.items() if service["image"] == "domogate"}
        (subnet,) = [ip_network(one["subnet"]) for one in document["networks"]["front"]["ipam"]["config"]]
        addresses = {name: service["networks"]["front"]["ipv4_address"] for name, service in gateways.items()}
        proxy = services["proxy"]["networks"]["front"]["ipv4_address"]
        assert all(ip_address(one) in subnet for one in (proxy, *addresses.values()))
        settings = [load(service, secrets) for service in gateways.values()]
        assert {one.trusted_proxies for one in settings} == {(proxy,)}
        wanted = [f"{address}:{one.port}" for address, one in zip(addresses.values(), settings, strict=True)]
        assert re.findall(r"server (\S+);", upstream) == wanted
        assert services["proxy"]["depends_on"].keys() == gateways.keys()
        scraped = yaml.safe_load((FOLDER / "prometheus.yml").read_text())["scrape_configs"][0]["static_configs"][0]["targets"]
        assert scraped == [f"{name}:{one.metrics_port}" for name, one in zip(gateways, settings, strict=True)]

    def test_the_database_has_the_user_and_the_password_of_the_gateways(self, secrets: Path) -> None:
        services = read(FOLDER / "cluster.yaml")["services"]
        database, own = load(services["gateway-1"], secrets).database, services["postgres"]["environment"]
        password = (secrets / "postgres-password").read_text().strip()
        assert database == f"postgresql://{own['POSTGRES_USER']}:{password}@postgres/{own['POSTGRES_DB']}"


class TestMonitoring:
    def test_promtool_accepts_the_file_of_prometheus(self, tmp_path: Path) -> None:
        shutil.copy(FOLDER / "prometheus.yml", tmp_path)
        shutil.copy(ROOT / "deploy" / "prometheus" / "alerts.yml", tmp_path)
        command = ["promtool", "check", "config", str(tmp_path / "prometheus.yml")]
        told = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        assert told.returncode == 0, told.stdout + told.stderr

    def test_grafana_finds_dashboards_and_their_source(self) -> None:
        volumes = read(FOLDER / "cluster.yaml")["services"]["grafana"]["volumes"]
        mounted = {place: source for source, place, *_ in (volume.split(":") for volume in volumes)}
        (provider,) = yaml.safe_load((FOLDER / "grafana" / "dashboards.yaml").read_text())["providers"]
        dashboards = list((FOLDER / mounted[provider["options"]["path"]]).glob("*.json"))
        assert dashboards
        assert all(json.loads(path.read_text())["title"] for path in dashboards)


class TestNats:
    async def test_only_the_gateways_may_use_it_and_only_the_subjects_of_their_cluster(
        self, secrets: Path, tmp_path: Path
    ) -> None:
        settings = load(read(FOLDER / "cluster.yaml")["services"]["gateway-1"], secrets)
        own = tmp_path / "nats.conf"
        # The test chooses the ports.
        own.write_text(re.sub(r"^(listen|http): .*\n", "", (secrets / "nats.conf").read_text(), flags=re.MULTILINE))
        refused: list[Exception] = []

        async def keep(error: Exception) -> None:
            refused.append(error)

        with nats_server(tmp_path, "--config", str(own)) as server:
            given = msgspec.structs.replace(settings, nats=(server.url,))
            assert (await check_nats(given)).outcome == "ok"
            assert (await check_nats(msgspec.structs.replace(given, nats_password="wrong"))).outcome == "problem"
            connection = await nats.connect(
                server.url, user=settings.nats_user, password=settings.nats_password, error_cb=keep, allow_reconnect=False
            )
            waiting = await connection.subscribe(f"{settings.cluster}.feed")
            await connection.publish("other.feed", b"1")
            await connection.publish(f"{settings.cluster}.feed", b"2")
            assert (await waiting.next_msg(60)).data == b"2"
            await connection.close()
        assert ["other.feed" in str(error) for error in refused] == [True]
