"""Reads a Dockerfile and a .dockerignore file, as an engine does."""

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from string import Template

_IGNORED = re.compile(r"^\s*(#.*)?$")


@dataclass(frozen=True)
class Step:
    """An instruction: its name, its flags such as --from, and the rest of its line."""

    name: str
    flags: dict[str, str]
    rest: str

    @property
    def command(self) -> list[str]:
        """The program and its arguments. Text that is not a JSON list is a line for a shell."""
        if self.rest.startswith("["):
            words: list[str] = json.loads(self.rest)
            return words
        return ["/bin/sh", "-c", self.rest]

    @property
    def words(self) -> list[str]:
        return shlex.split(self.rest)


@dataclass
class Stage:
    """The steps from one FROM to the next."""

    image: str
    name: str
    steps: list[Step] = field(default_factory=list)

    def last(self, name: str) -> Step:
        return [step for step in self.steps if step.name == name][-1]

    def environment(self, path: str) -> dict[str, str]:
        """The variables of ENV. `path` is the PATH of the base image."""
        values = {"PATH": path}
        for step in self.steps:
            if step.name == "ENV":
                values |= {
                    name: Template(value).substitute(values) for name, _, value in (word.partition("=") for word in step.words)
                }
        return values


def read_dockerfile(path: Path, given: Mapping[str, str] | None = None) -> list[Stage]:
    """Return the stages in their order. `given` are build arguments; an image can name them."""
    stages: list[Stage] = []
    arguments: dict[str, str] = {}
    for line in _join_lines(path.read_text()):
        name, _, rest = line.partition(" ")
        flags: dict[str, str] = {}
        while match := re.match(r"\s*--([a-z-]+)=(\S+)\s+", rest):
            flags[match[1]] = match[2]
            rest = rest[match.end() :]
        if name == "FROM":
            image, *alias = rest.split()
            stages.append(Stage(Template(image).substitute(arguments), alias[1] if alias else ""))
        elif name == "ARG" and not stages:
            argument, _, default = rest.strip().partition("=")
            arguments[argument] = (given or {}).get(argument, default)
        else:
            stages[-1].steps.append(Step(name, flags, rest.strip()))
    return stages


def _join_lines(text: str) -> list[str]:
    kept = "\n".join(line for line in text.splitlines() if not _IGNORED.match(line))
    return re.sub(r"\\\n\s*", "", kept).splitlines()


class Context:
    """The files that an engine gets: those of a folder that its .dockerignore file does not exclude."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        lines = (folder / ".dockerignore").read_text().splitlines()
        self._patterns = [
            (line.startswith("!"), _compile(line.removeprefix("!"))) for line in lines if not _IGNORED.match(line)
        ]

    def has(self, path: Path) -> bool:
        """Whether the file or folder is sent. The last pattern that matches the path or a parent folder decides."""
        parts = path.relative_to(self.folder).parts
        prefixes = ["/".join(parts[:length]) for length in range(1, len(parts) + 1)]
        kept = True
        for wanted, pattern in self._patterns:
            if any(map(pattern.fullmatch, prefixes)):
                kept = wanted
        return kept

    def files(self, path: Path) -> list[Path]:
        """The file, or all files below the folder, that are sent."""
        if not path.is_dir():
            return [path] if self.has(path) else []
        inner = [path for path in sorted(path.iterdir()) if path.name != "node_modules" or self.has(path)]
        return [file for one in inner for file in self.files(one)]


def _compile(pattern: str) -> re.Pattern[str]:
    escaped = re.escape(pattern.strip("/"))
    return re.compile(escaped.replace(r"\*\*/", "(?:.*/)?").replace(r"\*", "[^/]*"))
