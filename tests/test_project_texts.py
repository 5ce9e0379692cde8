"""No file of the project names a package registry or a path of somebody's machine."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.named_code import ROOT

# Built from parts, so that this file does not contain the forbidden words.
HOSTS = (
    *("pypi" + ".org", "python" + "hosted.org", "npm" + "js.", "yarn" + "pkg.com", "docker" + ".io", "ghcr" + ".io"),
    *("quay" + ".io", "anaconda" + ".org", "crates" + ".io", "arti" + "factory", "verda" + "ccio", "index" + "-url"),
)


FOLDERS = ["home", "Users", "root", "work", "tmp", "mnt", "workspace"]
NAMES_A_HOST = re.compile("|".join(re.escape(host) for host in HOSTS), re.IGNORECASE)
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


def lines_matching(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:120]}"
        for path in files_of_the_project()
        if path.name != "uv.lock"  # git-ignored: it names hosts
        and pattern.search(text := path.read_text(errors="replace"))
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]


class TestWhatIsNotSaid:
    @pytest.mark.slow
    def test_no_file_names_a_package_registry(self) -> None:
        assert lines_matching(NAMES_A_HOST) == []

    @pytest.mark.slow
    def test_no_file_names_a_path_of_somebodys_machine(self) -> None:
        assert lines_matching(NAMES_A_FOLDER) == []

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
