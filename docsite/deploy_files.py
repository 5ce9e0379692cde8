"""Pages with the files of `deploy/` and the files for systemd. A reader can read each file, and download it.

A gateway is installed from a wheel, which has no folder `deploy/`. The pages are made while the site is built, so they always
show the files of the same version.
"""

import gzip
import html
import io
import tarfile
from functools import cache
from pathlib import Path
from typing import NamedTuple

from pymdownx.slugs import slugify

from domogate.cli._units import fill_units

ROOT = Path(__file__).resolve().parents[1]
FOLDER = "deploy"
ARCHIVE = "deploy/domogate-deploy.tar.gz"
INDEX = "deploy/index.md"
LOCK = "requirements.lock"
UNITS = "src/domogate/cli/units"
_SECRETS = "secrets"
"""The folder that `make-secrets` fills. It must never be a part of the site."""
_LONG = 600
"""A file with more lines is folded, is not searched, and has no colours."""
_LANGUAGES = {
    ".conf": "nginx",
    ".json": "json",
    ".py": "python",
    ".tpl": "text",
    ".yaml": "yaml",
    ".yml": "yaml",
    "Dockerfile": "dockerfile",
    "make-secrets": "sh",
}
_slug = slugify(case="lower")  # as in mkdocs.yml


class Group(NamedTuple):
    """A page with the files of one folder. `readme` names a file of the folder that is the text of the page."""

    folder: str
    title: str
    text: str
    readme: str = ""

    @property
    def page(self) -> str:
        return f"{FOLDER}/{self.folder.partition('/')[0]}.md"


GROUPS = (
    Group(
        "nginx",
        "Files for nginx",
        "[Proxies](../deployment.md#proxies) says where to copy these files, and what to change in them.",
    ),
    Group(
        "caddy",
        "File for Caddy",
        "[Proxies](../deployment.md#proxies) says what to change in this file.",
    ),
    Group(
        "container",
        "Files of the image",
        "[The image](../deployment.md#the-image) says how to build it. The build needs a checkout or the source package.",
    ),
    Group(
        "compose",
        "Files for Docker Compose",
        "[Compose](../deployment.md#compose) says how to use these files. `cluster.yaml` also needs files of other folders, so "
        "download [all files](index.md) as an archive.",
    ),
    Group("helm/domogate", "", "", "README.md"),
    Group(
        "prometheus",
        "Files for Prometheus and Alertmanager",
        "[Health and metrics](../operations/monitoring.md#health-and-metrics) says how to use these files, and "
        "[alerts](../operations/alerts.md) explains each alert.",
    ),
    Group(
        "grafana",
        "Dashboards for Grafana",
        "Import these files in Grafana with *Dashboards, New, Import* "
        "([health and metrics](../operations/monitoring.md#health-and-metrics)).",
    ),
)
SYSTEMD = Group(
    "systemd",
    "Files for systemd",
    "`domogate service install` writes these files ([systemd](../operations.md#systemd)). Here the program is in "
    "`/opt/domogate`, and the gateway listens on port 8080 of this machine. The command writes the program of your "
    "installation, and the addresses and credentials that you name.",
)


READMES = {group.page: f"{FOLDER}/{group.folder}/{group.readme}" for group in GROUPS if group.readme}
"""The file of the repository that is the text of a page."""


def list_sources(root: Path = ROOT) -> list[Path]:
    """Return all files of `deploy/`, without secrets, the templates of the files for systemd, and the lock file."""
    found = [*(root / FOLDER).rglob("*"), *(root / UNITS).iterdir(), root / LOCK]
    return sorted(path for path in found if path.is_file() and not {_SECRETS, "__pycache__"} & set(path.parts))


def make_pages(root: Path = ROOT) -> dict[str, str]:
    """Return the text of each page by its path on the site."""
    pages = {group.page: _write_page(group, _files_of(group, root), root) for group in GROUPS}
    pages[SYSTEMD.page] = _write_page(SYSTEMD, fill_units(), root)
    return {INDEX: _write_index(), **pages}


def make_downloads(root: Path = ROOT) -> dict[str, bytes]:
    """Return the content of each file that can be downloaded, by its path on the site."""
    found = {
        f"{FOLDER}/{group.folder}/{name}": text.encode()
        for group in GROUPS
        for name, text in _files_of(group, root).items()
        if name != group.readme
    }
    found |= {f"{FOLDER}/{SYSTEMD.folder}/{name}": text.encode() for name, text in fill_units().items()}
    return {ARCHIVE: _pack(root), f"{FOLDER}/{LOCK}": (root / LOCK).read_bytes(), **found}


@cache
def find_page(path: str) -> str | None:
    """Return the page, with a heading, that shows a file or folder of the repository. Returns None if there is none."""
    if path == FOLDER:
        return INDEX
    for group in GROUPS:
        folder = f"{FOLDER}/{group.folder}"
        if path in (folder, f"{folder}/{group.readme}"):
            return group.page
        if path.startswith(f"{folder}/") and (ROOT / path).is_file():
            return f"{group.page}#{_slug(path.removeprefix(f'{folder}/'), '-')}"
    return None


def _files_of(group: Group, root: Path) -> dict[str, str]:
    folder = root / FOLDER / group.folder
    return {
        path.relative_to(folder).as_posix(): path.read_text("utf-8")
        for path in list_sources(root)
        if path.is_relative_to(folder)
    }


def _write_index() -> str:
    rows = [f"| [{group.folder}]({_below(group.page)}) | {_title_of(group)} |" for group in (*GROUPS, SYSTEMD)]
    parts = [
        "# Files for deployment",
        f"These pages show the files of the folder `{FOLDER}/` and the files for systemd, in the version of this gateway. "
        "[Containers, Kubernetes and proxies](../deployment.md) says how to use them.",
        "\n".join(["| folder | content |", "|---|---|", *rows]),
        f"{_link(ARCHIVE)}: it has all files of `{FOLDER}/`. A gateway that serves this site also serves the files, so you can "
        "download them on another machine:",
        f"````sh\ncurl -fO https://gateway.example.com/docs/{ARCHIVE}\ntar -xzf {Path(ARCHIVE).name}\ncd {FOLDER}\n````",
        f"{_link(f'{FOLDER}/{LOCK}')}: the packages with which this version was tested, with their hashes "
        "([running a gateway](../operations.md)).",
    ]
    return "\n\n".join(parts) + "\n"


def _title_of(group: Group) -> str:
    return group.title or "Helm chart for Kubernetes"


def _write_page(group: Group, files: dict[str, str], root: Path) -> str:
    if group.readme:
        parts = [(root / FOLDER / group.folder / group.readme).read_text("utf-8").rstrip(), "## Files"]
    else:
        parts = [f"# {group.title}", group.text]
    level = "###" if group.readme else "##"
    for name, text in files.items():
        if name != group.readme:
            path = f"{FOLDER}/{group.folder}/{name}"
            parts += [f"{level} {name}", _link(path), _show(name, text)]
    return "\n\n".join(parts) + "\n"


def _link(path: str) -> str:
    return f'<a href="{_below(path)}" download>Download {Path(path).name}</a>'


def _below(path: str) -> str:
    return path.removeprefix(f"{FOLDER}/")


def _show(name: str, text: str) -> str:
    lines = text.count("\n")
    if lines > _LONG:
        code = f'<div class="highlight"><pre><code>{html.escape(text)}</code></pre></div>'
        return f"<details data-search-exclude><summary>Show the {lines} lines of {Path(name).name}</summary>{code}</details>"
    language = _LANGUAGES.get(Path(name).suffix) or _LANGUAGES.get(Path(name).name, "text")
    language = "ini" if name.startswith("etc/") else language
    return f"````{language}\n{text.rstrip()}\n````"


def _pack(root: Path) -> bytes:
    """Return all files of `deploy/` as an archive. The same files give the same bytes."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in list_sources(root):
            if path.is_relative_to(root / FOLDER):
                content = path.read_bytes()
                entry = tarfile.TarInfo(path.relative_to(root).as_posix())
                entry.size, entry.mode = len(content), 0o755 if content.startswith(b"#!") else 0o644
                archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(packed.getvalue(), mtime=0)
