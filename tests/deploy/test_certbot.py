"""The blocks of the guide about certificates that are for certbot: nginx loads its files, and the hook does its work."""

import os
import re
import ssl
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from support.http import PATIENCE
from support.named_code import ROOT
from support.page_blocks import Block, read_blocks, read_commands
from support.ports import free_port
from support.reverse_proxy import ReverseProxy
from support.tls import make_self_signed

pytestmark = pytest.mark.slow

WEBROOT = "/var/www/certbot"
LINEAGE = "/etc/letsencrypt/live/gateway.example.com"
CHALLENGE = "/.well-known/acme-challenge/evaGxfADs6pSRb2LAv9IZ"


def block_with(words: str) -> Block:
    (found,) = [block for block in read_blocks(ROOT / "docs" / "guides" / "certificates.md") if words in block.text]
    return found


def replace_once(text: str, pattern: str, by: str) -> str:
    changed, count = re.subn(pattern, lambda _: by, text, flags=re.MULTILINE | re.DOTALL)
    assert count == 1, pattern
    return changed


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that the nginx of the test can read, which has no root rights."""
    with tempfile.TemporaryDirectory(prefix="domogate-certbot-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


class TestNginx:
    def test_the_server_of_port_80_answers_a_challenge_and_redirects_the_rest(self, folder: Path) -> None:
        answer = folder / CHALLENGE.lstrip("/")
        answer.parent.mkdir(parents=True)
        answer.write_text("the answer to the challenge")
        server = re.sub(r"^ *listen \[::\]:.*\n", "", block_with("acme-challenge").text, flags=re.MULTILINE)
        server = replace_once(server, re.escape(WEBROOT), str(folder))
        proxy = ReverseProxy(
            "nginx", free_port(), change=lambda text: replace_once(text, r"^server \{\s+listen 80;.*?^\}\n", server)
        )
        with proxy.run():
            plain = f"http://localhost:{proxy.plain_port}"
            assert httpx.get(f"{plain}{CHALLENGE}", timeout=PATIENCE).text == "the answer to the challenge"
            assert httpx.get(f"{plain}{CHALLENGE}x", timeout=PATIENCE).status_code == 404
            other = httpx.get(f"{plain}/homes?x=1", timeout=PATIENCE)
            assert (other.status_code, other.headers["Location"]) == (308, "https://localhost/homes?x=1")
        assert not re.search(r"\[(warn|emerg)\]", proxy.log), proxy.log

    def test_it_serves_the_certificate_of_certbot(self, folder: Path) -> None:
        made = make_self_signed(folder)
        made.certificate.rename(folder / "fullchain.pem")
        made.key.rename(folder / "privkey.pem").chmod(0o644)
        lines = block_with("privkey.pem;").text
        assert lines.count(LINEAGE) == 2
        lines = lines.replace(LINEAGE, str(folder))
        proxy = ReverseProxy(
            "nginx", free_port(), change=lambda text: replace_once(text, r"ssl_certificate .*?\.key;\n", lines)
        )
        with proxy.run():
            served = ssl.get_server_certificate(("localhost", proxy.port), timeout=PATIENCE)
        assert ssl.PEM_cert_to_DER_cert(served) == ssl.PEM_cert_to_DER_cert((folder / "fullchain.pem").read_text())


class TestCertbot:
    def test_it_writes_to_the_folder_and_the_names_that_nginx_reads(self) -> None:
        commands = [words for words in read_commands(block_with("certonly").script) if words[0] == "sudo"]
        assert commands[0] == ["sudo", "mkdir", "-p", WEBROOT]
        flags = dict(zip(commands[1][3:], commands[1][4:], strict=False))
        assert flags["--webroot-path"] == WEBROOT
        assert f"root {WEBROOT};" in block_with("acme-challenge").text
        assert LINEAGE.endswith(f"/{flags['--domain']}")
        assert flags["--deploy-hook"] == "systemctl reload nginx"

    def test_the_hook_copies_both_files_for_the_service(self, tmp_path: Path) -> None:
        """Another program stands for `install`, and writes down how it was called. The gateway needs no restart."""
        (hook := tmp_path / "domogate").write_text(block_with("RENEWED_LINEAGE").text)
        assert hook.read_text().startswith("#!/bin/sh\n")
        subprocess.run(["sh", "-n", hook], check=True, timeout=60)
        (program := tmp_path / "install").write_text('#!/bin/sh\necho install "$@"\n')
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "RENEWED_LINEAGE": LINEAGE}
        told = subprocess.run(["sh", hook], env=environment, capture_output=True, text=True, check=True, timeout=60)
        assert told.stdout.splitlines() == [
            f"install -o root -g domogate -m 640 {LINEAGE}/fullchain.pem /etc/domogate/certificate.pem",
            f"install -o root -g domogate -m 640 {LINEAGE}/privkey.pem /etc/domogate/certificate.key",
        ]
