"""Clients that openapi-python-client generates from the documents compile, and call every operation of the demo."""

import compileall
import enum
import functools
import importlib
import inspect
import json
import sys
import types
import typing
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from jinja2 import Environment, FileSystemBytecodeCache

from support.http import PATIENCE
from support.sdk_calls import CALLS, NO_BODY, Call
from support.sdk_demo import SdkDemo
from support.sdk_recording import documents_of

pytestmark = pytest.mark.slow  # it generates and compiles more than a thousand files

GENERATOR = "openapi_python_client"
PACKAGE = "generated_clients"
OVERRIDES = {
    "application/xml": "text/plain",
    "application/jsonl": "text/plain",
    "image/png": "application/octet-stream",
    "image/jpeg": "application/octet-stream",
    "application/pdf": "application/octet-stream",
    "application/vnd.sqlite3": "application/octet-stream",
    "application/yaml": "text/plain",
    "application/schema+json": "text/plain",
}
"""The generator knows JSON, texts and files. These media types are one of them."""


def make_client(name: str, document: dict[str, Any], folder: Path) -> None:
    source = folder / f"{name}.json"
    source.write_text(json.dumps(document))
    generator, config = importlib.import_module(GENERATOR), importlib.import_module(f"{GENERATOR}.config")
    chosen = config.Config.from_sources(
        config.ConfigFile(post_hooks=[], content_type_overrides=OVERRIDES),
        config.MetaType.NONE,
        source,
        "utf-8",
        overwrite=True,
        output_path=folder / PACKAGE / package_of(name),
    )
    problems = [f"{one.header} {one.detail}" for one in generator.generate(config=chosen)]
    assert problems == [], name


def compile_templates_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the compiled templates of the generator. Otherwise it compiles them again for each document."""
    (cache := folder / "templates").mkdir()
    kept = FileSystemBytecodeCache(str(cache))
    monkeypatch.setattr(f"{GENERATOR}.Environment", functools.partial(Environment, bytecode_cache=kept))


def snake_case(name: str) -> str:
    """The name as the generator writes it in Python."""
    return str(importlib.import_module(f"{GENERATOR}.strings").PythonIdentifier(name, ""))


def package_of(document: str) -> str:
    return document.replace("-", "_")


def convert(hint: Any, value: Any) -> Any:
    """The value as the type that the generated function takes."""
    choices = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    for choice in choices:
        if typing.get_origin(choice) is list:
            (inner,) = typing.get_args(choice)
            return [convert(inner, one) for one in value]
        if inspect.isclass(choice) and issubclass(choice, enum.Enum):
            return choice(value)
        if hasattr(choice, "from_dict") and (made := _from_dict(choice, value)) is not None:
            return made
    return value


def _from_dict(model: Any, value: dict[str, Any]) -> Any:
    """None: the value is of another model."""
    try:
        made = model.from_dict(value)
    except (KeyError, ValueError):
        return None
    return made if value.keys() <= made.to_dict().keys() else None


class GeneratedClients:
    """The generated packages, with the credentials of the demo."""

    def __init__(self, demo: SdkDemo) -> None:
        self._demo = demo

    def call(self, call: Call) -> Any:
        """The status, the media type, the body as bytes, and the body as the generated code reads it."""
        client = importlib.import_module(f"{PACKAGE}.{package_of(call.document)}")
        headers = self._demo.headers_for(call)
        options = {"base_url": self._demo.gateway.base_url, "timeout": PATIENCE, "verify_ssl": False}
        if (token := headers.pop("Authorization", None)) is None:
            opened = client.Client(**options)
        else:
            opened = client.AuthenticatedClient(**options, token=token.removeprefix("Bearer "), headers=headers)
        module = self._find(call)
        arguments = self._arguments(call, module)
        if call.operation == "listen":  # it does not end by itself
            with opened.get_httpx_client().stream(**module._get_kwargs(**arguments)) as stream:
                return stream.status_code, "text/event-stream", next(stream.iter_bytes()), None
        answer = module.sync_detailed(client=opened, **arguments)
        opened.get_httpx_client().close()
        return answer.status_code, answer.headers.get("content-type", "").partition(";")[0], answer.content, answer.parsed

    def _find(self, call: Call) -> ModuleType:
        name = snake_case(call.operation)
        (file,) = Path(sys.path[0], PACKAGE, package_of(call.document), "api").glob(f"*/{name}.py")
        return importlib.import_module(f"{PACKAGE}.{package_of(call.document)}.api.{file.parent.name}.{name}")

    def _arguments(self, call: Call, module: ModuleType) -> dict[str, Any]:
        hints = typing.get_type_hints(module._get_kwargs, vars(module))
        values = {snake_case(name): value for name, value in {**call.path, **call.query}.items()}
        if call.body is not NO_BODY:
            values["body"] = call.body
        return {name: convert(hints[name], self._demo.fill(value)) for name, value in values.items()}


def test_generated_python_compiles_and_calls_every_operation(
    sdk_demo: SdkDemo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compile_templates_once(tmp_path, monkeypatch)
    documents = documents_of(sdk_demo.gateway.base_url)
    for name, document in documents.items():
        make_client(name, document, tmp_path)
    assert compileall.compile_dir(tmp_path / PACKAGE, quiet=1)
    monkeypatch.syspath_prepend(tmp_path)
    clients = GeneratedClients(sdk_demo)
    for call in CALLS:
        status, media_type, content, parsed = clients.call(call)
        assert status == call.status, f"{call.name}: {status} {content!r}"
        if media_type == "application/json":
            answer = json.loads(content)
            assert parsed is not None, f"{call.name}: the generated code does not know its answer"
            shown = [one.to_dict() for one in parsed] if isinstance(parsed, list) else parsed.to_dict()
            assert len(shown) == len(answer)
            sdk_demo.keep(call, answer)
