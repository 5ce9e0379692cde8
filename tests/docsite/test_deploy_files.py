"""The files of deploy/ are on the site: a reader without the repository can read and download each of them."""

import gzip
import io
import re
import subprocess
import tarfile
from html import unescape
from pathlib import Path

import httpx
import pytest

from docsite.building import ROOT, build, hash_inputs
from docsite.deploy_files import (
    ARCHIVE,
    GROUPS,
    INDEX,
    LOCK,
    READMES,
    SYSTEMD,
    find_page,
    list_sources,
    make_downloads,
    make_pages,
)
from docsite.outside import adapt_links
from domogate.cli._units import PLACES, fill_units
from domogate.console.documentation import DocumentationApp
from domogate.console.site_manifest import SITE

pytestmark = pytest.mark.slow

TRACKED = subprocess.run(
    ["git", "ls-files", "deploy"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
).stdout.splitlines()
SHOWN = [name for name in TRACKED if name not in READMES.values() and (ROOT / name).exists()]


def read_site(path: str) -> str:
    return gzip.decompress((SITE / f"{path}.gz").read_bytes()).decode()


def read_text(page: str) -> str:
    """The text of a page of the built site, without tags."""
    return unescape(re.sub("<[^>]+>", "", read_site(page)))


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    build()


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive of the site, unpacked."""
    folder = tmp_path_factory.mktemp("archive")
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress((SITE / f"{ARCHIVE}.gz").read_bytes()))) as archive:
        archive.extractall(folder)
    return folder


class TestPages:
    def test_each_folder_has_a_page(self) -> None:
        folders = {name.split("/")[1] for name in TRACKED}
        assert {group.folder.partition("/")[0] for group in GROUPS} == folders

    @pytest.mark.parametrize("name", SHOWN)
    def test_a_page_shows_the_file_with_a_link_to_download_it(self, name: str) -> None:
        found = find_page(name)
        assert found is not None
        page, _, anchor = found.partition("#")
        path = page.replace(".md", ".html")
        assert f'id="{anchor}"' in read_site(path)
        assert f'<a href="{name.removeprefix("deploy/")}" download>' in read_site(path)
        assert (ROOT / name).read_text().strip().expandtabs(4) in read_text(path).expandtabs(4)

    def test_the_page_of_the_chart_begins_with_its_readme_and_leads_to_all_values(self) -> None:
        text = read_site("deploy/helm.html")
        assert "Helm chart of Domogate</h1>" in re.sub(r'<a class="headerlink".*?</a>', "", text)
        assert 'href="../helm-values.html"' in text
        assert 'href="container.html#dockerfile"' in text

    def test_the_files_for_systemd_are_shown_as_the_command_writes_them(self) -> None:
        text = read_text(SYSTEMD.page.replace(".md", ".html"))
        for place, unit in fill_units().items():
            assert unit.strip() in text
            assert read_site(f"deploy/systemd/{place}") == unit
        assert "@" not in "".join(re.findall("@[A-Z]+@", text))
        assert len(PLACES) == 4

    def test_the_index_leads_to_each_page_and_to_the_archive(self) -> None:
        index = read_site(INDEX.replace(".md", ".html"))
        for group in (*GROUPS, SYSTEMD):
            assert f'href="{group.page.removeprefix("deploy/").replace(".md", ".html")}"' in index
        assert f'<a href="{ARCHIVE.removeprefix("deploy/")}" download>' in index

    def test_a_change_of_a_file_changes_the_site(self, monkeypatch: pytest.MonkeyPatch) -> None:
        before = hash_inputs()
        monkeypatch.setattr("docsite.building.list_sources", lambda root: list_sources(root)[1:])
        assert hash_inputs() != before


class TestDownloads:
    @pytest.mark.parametrize("name", SHOWN)
    def test_a_file_has_the_same_bytes(self, name: str) -> None:
        assert gzip.decompress((SITE / f"{name}.gz").read_bytes()) == (ROOT / name).read_bytes()

    async def test_the_gateway_serves_files_as_text_and_the_archive_as_it_is(self) -> None:
        transport = httpx.ASGITransport(DocumentationApp(b""))
        async with httpx.AsyncClient(transport=transport, base_url="https://home.example") as web:
            answer = await web.get("/docs/deploy/caddy/Caddyfile")
            assert (answer.status_code, answer.headers["content-type"]) == (200, "text/plain; charset=utf-8")
            assert answer.content == (ROOT / "deploy" / "caddy" / "Caddyfile").read_bytes()
            for encoding in ("gzip", "identity"):
                answer = await web.get(f"/docs/{ARCHIVE}", headers={"accept-encoding": encoding})
                assert answer.headers["content-type"] == "application/gzip"
                assert answer.content == make_downloads()[ARCHIVE]

    def test_the_archive_has_all_files_and_scripts_can_be_run(self, unpacked: Path) -> None:
        assert sorted(str(path.relative_to(unpacked)) for path in unpacked.rglob("*") if path.is_file()) == sorted(
            name for name in TRACKED if (ROOT / name).exists()
        )
        assert all(path.read_bytes() == (ROOT / path.relative_to(unpacked)).read_bytes() for path in unpacked.rglob("*.*ml"))
        made = unpacked / "deploy" / "compose"
        subprocess.run([made / "make-secrets", "gateway.example.com"], check=True, capture_output=True, timeout=60)
        assert (made / "secrets" / "certificate.pem").is_file()

    def test_the_same_files_give_the_same_bytes(self) -> None:
        assert make_downloads() == make_downloads()

    def test_secrets_are_never_on_the_site(self, unpacked: Path) -> None:
        """The folder of the secrets is inside deploy/compose."""
        secrets = unpacked / "deploy" / "compose" / "secrets"
        secrets.mkdir(exist_ok=True)
        (secrets / "domogate-secret-key").write_text("hush-hush-hush")
        units = unpacked / "src" / "domogate" / "cli" / "units"
        units.mkdir(parents=True)
        (unpacked / LOCK).write_text("")
        assert [path for path in list_sources(unpacked) if "secrets" in path.parts] == []
        downloads = make_downloads(unpacked)
        with tarfile.open(fileobj=io.BytesIO(downloads[ARCHIVE])) as archive:
            assert [name for name in archive.getnames() if "secrets/" in name] == []
        assert [name for name in (*downloads, *make_pages(unpacked)) if "secrets/" in name] == []
        assert "hush-hush-hush" not in "".join(make_pages(unpacked).values())


class TestLinks:
    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("[a](../deploy)", "[a](deploy/index.md)"),
            ("[a](../deploy/nginx)", "[a](deploy/nginx.md)"),
            ("[a](../deploy/nginx/domogate.conf)", "[a](deploy/nginx.md#domogateconf)"),
            ("[a](../deploy/helm/domogate/README.md)", "[a](deploy/helm.md)"),
            ("[a](../deploy/nginx/gone.conf)", "a"),
            ("````yaml\n[a](../dev)\n```\n[a](../dev)\n````", "````yaml\n[a](../dev)\n```\n[a](../dev)\n````"),
        ],
    )
    def test_a_link_to_a_file_leads_to_the_page_that_shows_it(self, before: str, after: str) -> None:
        assert adapt_links(before, "docs/cli.md", "cli.md") == after

    def test_the_hotel_behind_nginx_needs_only_the_site(self) -> None:
        """The page names each file that nginx needs, as a link that works on the site. Another test follows the page."""
        page = read_site("guides/nginx.html")
        links = re.findall(r'href="\.\./(deploy/nginx\.html#[^"]+)"', page)
        assert links == ["deploy/nginx.html#domogateconf", "deploy/nginx.html#upstreamconf"]
        assert "source package" not in page

    def test_no_guide_sends_a_reader_to_the_source_package_for_a_file(self) -> None:
        """The source package is needed only to build the image."""
        pages = [path for path in (ROOT / "docs").rglob("*.md") if "decisions" not in path.parts]
        wrong = [
            f"{path.relative_to(ROOT)}: {line}"
            for path in pages
            for line in re.findall(r"[^.\n]*`deploy/[^`]+` of\s+the source\s+package", path.read_text())
        ]
        assert wrong == []
