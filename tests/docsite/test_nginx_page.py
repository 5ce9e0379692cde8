"""The page guides/nginx.md works from its first to its last block, with a real nginx, a real gateway and a real broker."""

import json
import re
import ssl
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from docsite.building import build
from support.forms import forms_of
from support.http import KEY_HEADER, PATIENCE
from support.mosquitto import mosquitto
from support.named_code import ROOT
from support.page_blocks import Block, read_blocks
from support.page_machine import HOST, SERVICE_GROUP, SERVICE_USER, Machine
from support.page_shell import Reader
from support.page_stage import announce_devices

pytestmark = pytest.mark.slow

PAGE = ROOT / "docs" / "guides" / "nginx.md"
PASSWORD = "the password of a reader 2026"


def is_followed(block: Block) -> bool:
    return not block.mark.startswith("not run")


class ToThisMachine(httpx.HTTPTransport):
    """Connects to this machine for every name of a server, and checks the certificate for this name."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url.copy_with(host="127.0.0.1")
        extensions = {**request.extensions, "sni_hostname": request.url.host}
        return super().handle_request(
            httpx.Request(request.method, url, headers=request.headers, stream=request.stream, extensions=extensions)
        )


class Technician:
    """Follows the page on a machine. Opens each link that a command prints, and sets a password."""

    def __init__(self, machine: Machine, folder: Path) -> None:
        self.machine = machine
        self.passwords_set = 0
        day = (datetime.now(UTC) + timedelta(days=5)).date().isoformat()
        self._folder = folder
        self._reader = Reader(folder, {**machine.names, "2036-11-22": day}, machine.variables, self._look)

    def follow(self) -> None:
        try:
            self._reader.follow([block for block in read_blocks(PAGE) if is_followed(block)])
        finally:
            self._reader.stop()

    def browse(self) -> httpx.Client:
        """A browser that trusts the certificate that the technician has made."""
        context = ssl.create_default_context(cafile=str(self._folder / "gateway.pem"))
        return httpx.Client(base_url=self.machine.url, transport=ToThisMachine(verify=context), timeout=PATIENCE)

    def domogate(self, *arguments: str) -> str:
        command = [f"{self.machine.root}/bin/sudo", "-u", "domogate", str(self.machine.domogate), *arguments]
        environment = {**self.machine.variables, "DOMOGATE_CONFIG": f"{self.machine.root}/etc/domogate/domogate.toml"}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=PATIENCE).stdout

    def _look(self, printed: str) -> dict[str, str]:
        for url in re.findall(rf"{re.escape(self.machine.url)}/auth/password\?\S+", printed):
            with self.browse() as browser:
                page = browser.get(url)
                (form,) = [form for form in forms_of(page.text) if "password" in form.fields]
                filled = {name: PASSWORD if name in ("password", "repeated") else text for name, text in form.pairs}
                answer = browser.post(page.url.join(form.action), data=filled)
                assert answer.status_code in (200, 303), answer.text
            self.passwords_set += 1
        return {}


@pytest.fixture(scope="module")
def technician(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Technician]:
    build()  # the page downloads files from the gateway
    with (
        tempfile.TemporaryDirectory(prefix="domogate-machine-") as root,
        mosquitto(tmp_path_factory.mktemp("broker")) as broker,
    ):
        Path(root).chmod(0o755)
        announce_devices(broker)
        machine = Machine(Path(root), broker.port)
        try:
            technician = Technician(machine, tmp_path_factory.mktemp("home"))
            technician.follow()
            yield technician
        finally:
            machine.stop()


def mode_of(path: Path) -> str:
    return stat.filemode(path.stat().st_mode)


@pytest.mark.first
class TestPage:
    def test_the_operator_the_owner_and_the_guest_set_their_passwords_through_nginx(self, technician: Technician) -> None:
        assert technician.passwords_set == 3
        for person in ("operator", "anna", "guest"):
            with technician.browse() as browser:
                (form,) = [form for form in forms_of(browser.get("/auth/login").text) if "password" in form.fields]
                filled = {**form.fields, "email": f"{person}@example.com", "password": PASSWORD}
                assert browser.post("/auth/login", data=filled).status_code == 303

    def test_the_guest_sees_only_the_room(self, technician: Technician) -> None:
        technician.domogate("client", "add", "app", "--scope", "openid home.use")
        key = json.loads(technician.domogate("key", "issue", "app", "--json"))["key"]
        rooms = {}
        for person in ("anna", "guest"):
            who = ["--user", f"{person}@example.com", "--client", "app", "--kind", "access"]
            token = technician.domogate("token", "issue", *who).strip()
            with technician.browse() as browser:
                browser.headers.update({KEY_HEADER: key, "Authorization": f"Bearer {token}"})
                (home,) = browser.get("/home/v1/homes").json()["items"]
                found: dict[str, Any] = browser.get(f"/home/v1/homes/{home['id']}").json()
            rooms[person] = [room["name"] for floor in found["floors"] for room in floor["rooms"]]
        assert rooms["guest"] == ["Room 203"]
        assert len(rooms["anna"]) == 36

    def test_the_data_belong_to_the_service_and_only_it_can_read_them(self, technician: Technician) -> None:
        found = {}
        for path in (technician.machine.data, *technician.machine.data.rglob("*")):
            with suppress(FileNotFoundError):  # the service has removed a temporary file
                found[path] = path.stat()
        assert len(found) > 4
        assert {one.st_uid for one in found.values()} == {SERVICE_USER}
        assert [path for path, one in found.items() if one.st_mode & 0o077] == []

    def test_the_service_can_read_its_settings_but_not_the_key_of_nginx(self, technician: Technician) -> None:
        folder = technician.machine.root / "etc" / "domogate"
        assert (mode_of(folder), mode_of(folder / "domogate.toml")) == ("drwxr-x---", "-rw-r-----")
        assert {path.stat().st_gid for path in (folder, folder / "domogate.toml")} == {SERVICE_GROUP}
        assert mode_of(folder / "tls" / "certificate.key") == "-rw-------"

    def test_plain_http_leads_to_https_and_not_to_the_default_site(self, technician: Technician) -> None:
        answer = httpx.get(f"http://127.0.0.1:{technician.machine.http}/homes", headers={"Host": HOST}, timeout=PATIENCE)
        assert (answer.status_code, answer.headers["Location"]) == (308, f"https://{HOST}/homes")

    def test_the_files_of_nginx_are_those_of_the_site(self, technician: Technician) -> None:
        for name in ("domogate.conf", "upstream.conf"):
            downloaded = technician.machine.root / "etc" / "nginx" / "conf.d" / name
            assert downloaded.read_bytes() == (ROOT / "deploy" / "nginx" / name).read_bytes()
