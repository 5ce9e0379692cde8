"""No file of the project names a package registry or a path of somebody's machine."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.named_code import ROOT

# Built from parts, so that this file does not contain the forbidden words.
HOSTS = (
    *("pypi" + ".org", "python" + "hosted.org", "npm" + "js.", "yarn" + "pkg.com", "docker" + ".io", "ghcr" + ".io"),
    *("quay" + ".io", "anaconda" + ".org", "crates" + ".io", "arti" + "factory", "verda" + "ccio", "index" + "-url"),
)


FOLDERS = ["home", "Users", "root", "work", "tmp", "mnt", "workspace"]
NAMES_A_FOLDER = re.compile(rf"(?<![\w.}}/-])(?:/(?!home/v1\b)(?:{'|'.join(FOLDERS)})/[\w.~-]|[A-Z]:\\Users\\)")
TEXT = {
    f".{suffix}"
    for suffix in [
        "cfg",
        "css",
        "html",
        "ini",
        "j2",
        "js",
        "json",
        "lock",
        "mako",
        "md",
        "py",
        "sh",
        "toml",
        "txt",
        "yaml",
        "yml",
    ]
}


NOT_OURS = {"__pycache__", "dist", "build", "node_modules", "htmlcov", "domogate-data"}


def files_of_the_project(folder: Path = ROOT) -> Iterator[Path]:
    """Every text file of the project, without hidden folders except .ci and .github."""
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            if (
                path.name not in NOT_OURS
                and not path.name.endswith(".egg-info")
                and (path.name in {".ci", ".github"} or path.name[0] != ".")
            ):
                yield from files_of_the_project(path)
        elif path.suffix in TEXT or path.name in {"dev", "run", ".gitignore"}:
            yield path


def names_a_host(text: str) -> bool:
    """A regular expression that ignores case would need thirty times as long for all files."""
    folded = text.casefold()
    return any(host in folded for host in HOSTS)


def lines_where(is_wrong: Callable[[str], object]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:120]}"
        for path in files_of_the_project()
        if path.name != "uv.lock"  # git-ignored: it names hosts
        and is_wrong(text := path.read_text(errors="replace"))
        for number, line in enumerate(text.splitlines(), 1)
        if is_wrong(line)
    ]


class TestWhatIsNotSaid:
    @pytest.mark.slow
    def test_no_file_names_a_package_registry(self) -> None:
        assert lines_where(names_a_host) == []

    @pytest.mark.slow
    def test_no_file_names_a_path_of_somebodys_machine(self) -> None:
        assert lines_where(NAMES_A_FOLDER.search) == []

    @pytest.mark.parametrize("before", ["see ", '"', "`", "=", ":", "("])
    @pytest.mark.parametrize("folder", FOLDERS)
    def test_such_a_path_is_recognised(self, before: str, folder: str) -> None:
        assert NAMES_A_FOLDER.search(f"{before}/{folder}/anna")

    @pytest.mark.parametrize(
        "line", ["/homectl/api/v1.0", "GET /home/v1/homes", "${TMPDIR:-/tmp}/x", "https://example.com/home/page", "docs/work/x"]
    )
    def test_other_paths_are_not(self, line: str) -> None:
        assert not NAMES_A_FOLDER.search(line)

    def test_the_files_that_are_looked_at_are_all_kinds_of_ours(self) -> None:
        seen = {str(path.relative_to(ROOT)) for path in files_of_the_project()}
        assert {"README.md", "pyproject.toml", "dev", "src/domogate/settings/values.py", "docs/errors.md"} <= seen
