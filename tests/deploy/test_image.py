"""The image: the steps of the Dockerfile give a gateway that runs without rights and with a read-only root folder."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from docsite.building import build, hash_inputs
from docsite.outside import PAGES
from domogate import __version__
from domogate.console.site_manifest import SITE
from support.container import Container
from support.container_root import ContainerRoot, skip_without_namespaces
from support.dockerfile import Context, read_dockerfile
from support.examples import is_long
from support.named_code import ROOT
from support.node_packages import use_node
from support.ports import free_port
from support.wheel_files import download_wheels

DOCKERFILE = ROOT / "deploy" / "container" / "Dockerfile"
STAGES = read_dockerfile(DOCKERFILE)
IMAGE = STAGES[-1]
USER = "10001:10001"


class TestDockerfile:
    def test_hadolint_has_no_complaint(self) -> None:
        hadolint = Path(sys.executable).with_name("hadolint")
        told = subprocess.run([hadolint, DOCKERFILE], capture_output=True, text=True, check=False, timeout=120)
        assert (told.returncode, told.stdout + told.stderr) == (0, "")

    def test_the_process_gets_signals_and_has_a_numeric_user(self) -> None:
        assert IMAGE.last("ENTRYPOINT").rest.startswith("[")
        assert IMAGE.last("CMD").rest.startswith("[")
        assert IMAGE.last("USER").rest == USER

    def test_the_image_itself_runs_no_command(self) -> None:
        assert [step.rest for step in IMAGE.steps if step.name == "RUN"] == []

    def test_its_python_is_supported_and_the_same_in_all_stages(self) -> None:
        (image,) = {stage.image for stage in STAGES if stage.image.startswith("python:")}
        matrix = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
        version = re.match(r"python:(\d\.\d+)-slim-", image)
        assert version
        assert f'"{version[1]}"' in matrix

    def test_a_release_can_give_each_base_image_with_a_digest(self) -> None:
        digest = f"@sha256:{'0' * 64}"
        defaults = {stage.image for stage in STAGES}
        assert all(re.fullmatch(r"[a-z]+:\d[\w.-]+", image) for image in defaults), "a default has no version"
        names = {"BASE_IMAGE": "python:3.13-slim-bookworm", "NODE_IMAGE": "node:22-bookworm-slim"}
        assert set(names.values()) == defaults
        given = {name: image + digest for name, image in names.items()}
        pinned = read_dockerfile(DOCKERFILE, given)
        assert [stage.image for stage in pinned] == [stage.image + digest for stage in STAGES]
        assert 'image.base.name="$BASE_IMAGE"' in IMAGE.last("LABEL").rest
        releasing = (ROOT / "docs" / "releasing.md").read_text()
        assert all(f"--build-arg {name}={image}@sha256:" in releasing for name, image in names.items())


class TestContext:
    def test_only_files_of_the_build_are_sent(self) -> None:
        context = Context(ROOT)
        sent = {path.name for path in ROOT.iterdir() if context.has(path)}
        locks = {"requirements.lock", "requirements-build.lock", "requirements-site.lock"}
        pages = {source for source in PAGES if "/" not in source}
        assert sent == {"LICENSE", "deploy", "docs", "docsite", "mkdocs.yml", "pyproject.toml", "src", "web"} | locks | pages
        assert context.has(ROOT / "clients" / "typescript" / "src" / "index.ts")
        for path in ("web/node_modules", "src/domogate/console/static", "src/domogate/__pycache__", "deploy/compose/secrets"):
            assert not context.has(ROOT / path), path


@pytest.mark.first
@pytest.mark.slow
@pytest.mark.timeout(1800)  # the build compiles all packages, which takes minutes on a busy machine
class TestImage:
    def test_its_steps_make_a_gateway_that_needs_no_rights(self, tmp_path: Path) -> None:
        """One test, because the build takes long."""
        image = build_image(tmp_path)
        check_content(image)
        check_refusal(image, tmp_path / "refused")
        check_service(image, tmp_path / "serving")


def build_image(folder: Path) -> ContainerRoot:
    """Run the steps of all stages. Return the root folder of the last stage.

    Only the long form installs MkDocs and builds the documentation site in its stage.
    """
    skip_without_namespaces()
    use_node()
    npm = subprocess.run(["npm", "config", "get", "cache"], capture_output=True, text=True, check=True, timeout=60)
    caches = {"/cache/pip": download_wheels(), "/cache/npm": Path(npm.stdout.strip())}
    # To compile all packages takes longer than the few starts of the gateway save.
    given = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/cache/pip", "PIP_COMPILE": "0"}
    built: dict[str, ContainerRoot] = {}
    for stage in STAGES:
        built[stage.name] = ContainerRoot(folder / f"root-{stage.name}", stage, Context(ROOT), caches, built)
        takes_site = stage.name == "site" and not is_long()
        built[stage.name].build(given, only_copy=takes_site)
        if takes_site:
            take_site(built[stage.name])
    return built[""]


def take_site(stage: ContainerRoot) -> None:
    """Copy the site of the checkout into the stage, if the stage has the same sources and all Python files of the build."""
    build()
    ask = "import docsite.__main__, docsite.hooks, docsite.building as it; print(it.hash_inputs())"
    told = subprocess.run(
        [sys.executable, "-c", ask],
        cwd=stage.place("."),
        env={**os.environ, "PYTHONPATH": f"{stage.place('.')}:{stage.place('src')}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert told.stdout.strip() == hash_inputs(), f"the stage misses a source of the site\n{told.stderr}"
    shutil.copytree(SITE, stage.place(f"src/{SITE.relative_to(ROOT / 'src')}"))


def check_content(image: ContainerRoot) -> None:
    """The image has the gateway with its pages, its documentation and all extras, and no build tools."""
    command = image.command(["domogate", "version"], image.environment, {}, user=USER, read_only=True)
    told = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert told.stdout.startswith(f"domogate {__version__} "), told.stderr
    (site,) = image.place("/opt/domogate").glob("lib/python*/site-packages")
    assert (site / "domogate" / "console" / "static" / "build.json").is_file()
    assert (site / "domogate" / "console" / "site" / "site.json").is_file()
    installed = {path.name for path in site.iterdir()}
    assert not {"pip", "hatchling", "mkdocs", "setuptools"} & installed
    assert {"nats", "opentelemetry", "psycopg"} <= installed, "the packages of an extra are missing"
    assert not image.place("/build").exists()


def check_refusal(image: ContainerRoot, folder: Path) -> None:
    """Without a certificate and without a proxy, it says what to set."""
    container = Container(image, USER, folder, DOMOGATE_TRUSTED_PROXIES="")
    assert container.wait() == 2
    assert "trusted_proxies" in container.log


def check_service(image: ContainerRoot, folder: Path) -> None:
    """It serves pages, documentation and traces without rights on a read-only root folder, and stops on a signal."""
    container = Container(image, USER, folder, DOMOGATE_TRACE_ENDPOINT=f"http://127.0.0.1:{free_port()}/v1/traces")
    try:
        container.wait_until_healthy()
        page = httpx.get(f"{container.url}/", headers={"Accept": "text/html"}, timeout=60)
        assert page.status_code == 200
        assert "/assets/" in page.text
        documentation = httpx.get(f"{container.url}/docs/deployment.html", timeout=60)
        assert (documentation.status_code, "requirements.lock" in documentation.text) == (200, True)
        if os.geteuid() == 0:
            status = Path(f"/proc/{container.process.pid}/status").read_text()
            assert re.search(r"^Uid:(\t10001){4}$", status, re.MULTILINE)
            assert re.search(r"^CapEff:\t0+$", status, re.MULTILINE)
        assert container.write("/opt/domogate/new") != 0
        assert container.write("/data/new") == 0
        container.process.send_signal(signal.SIGTERM)
        assert container.wait() == 0, container.log
        assert container.check_health() == 1
    finally:
        container.process.kill()
        container.process.wait()
