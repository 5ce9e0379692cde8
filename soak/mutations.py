"""Mutation testing: changes the code in small ways, one change at a time, and runs the tests for each change.

A change that no test notices ("survived") shows a missing test, or code that has no effect.
"""

import ast
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UNIT = ("tests/families",)
CONTRACT = (*UNIT, "tests/contract", "tests/end_to_end/test_negative_rights_and_ids.py")
UNIT_TESTED = {"_family.py", "_injected.py", "_openapi.py", "_orders.py", "_routes.py", "_xml.py"}
"""Files of families for which the unit tests must notice a change.

For the other files of families, the contract tests must notice it.
"""
LADDER = (*UNIT, "tests/test_docs.py")
"""docs/errors.md has the whole ladder."""
RIGHTS = ("tests/services/rights", "tests/services/events/test_hub.py", *CONTRACT)
TOKENS = ("tests/identity",)
TIMEOUT = 300.0
SIZES = {"_CLIENTS", "_USERS", "_GRANTS", "cache_size"}
"""Sizes of caches. They are not changed: one entry more or less gives the same answers."""
_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    file: str
    line: int
    before: str
    after: str
    source: str
    tests: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.before} -> {self.after}"


def try_mutants(time_is_up: Callable[[], bool], folder: Path, chance: random.Random, say: Callable[[str], None]) -> str:
    """Run mutants in random order until the time is up, at least one. Surviving mutants are printed, but are not a failure."""
    mutants = list(all_mutants())
    chance.shuffle(mutants)
    package = folder / "src" / "domogate"
    shutil.copytree(ROOT / "src" / "domogate", package, ignore=shutil.ignore_patterns("__pycache__"))
    tried, survived = 0, 0
    for mutant in mutants:
        if tried and time_is_up():
            break
        path = package / mutant.file
        original = path.read_text()
        path.write_text(mutant.source)
        try:
            killed = _fails(mutant.tests, folder / "src")
        finally:
            path.write_text(original)
        tried, survived = tried + 1, survived + (not killed)
        if not killed:
            say(f"survived: {mutant}")
    return f"{tried - survived} of {tried} mutants killed ({len(mutants)} exist)"


def _fails(tests: tuple[str, ...], source: Path) -> bool:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "2", "-p", "no:cacheprovider", "-m", "not slow or story"]
    environment = {**os.environ, "PYTHONPATH": str(source), "HYPOTHESIS_PROFILE": "fast", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run([*command, *tests], cwd=ROOT, env=environment, capture_output=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def all_mutants() -> Iterator[Mutant]:
    package = ROOT / "src" / "domogate"
    targets: dict[Path, tuple[str, ...]] = {
        file: UNIT if file.name in UNIT_TESTED else CONTRACT for file in (package / "families").glob("*.py")
    }
    targets[package / "families" / "_ladder.py"] = LADDER
    targets |= dict.fromkeys((package / "services" / "rights").glob("*.py"), RIGHTS)
    targets[package / "identity" / "tokens.py"] = TOKENS
    for file, tests in sorted(targets.items()):
        yield from _mutants_of(file.read_text(), str(file.relative_to(package)), tests)


def _mutants_of(source: str, file: str, tests: tuple[str, ...]) -> Iterator[Mutant]:
    tree = ast.parse(source)
    skipped = {id(child) for node in ast.walk(tree) if _is_text_or_type(node) for child in ast.walk(node)}
    skipped |= {id(option.value) for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for option in node.keywords}
    skipped |= {id(value) for node in ast.walk(tree) for value in _sizes(node)}
    lines = source.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    for node in ast.walk(tree):
        if id(node) in skipped or not isinstance(node, ast.expr | ast.stmt):
            continue
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        before = source.encode()[begin:end].decode()
        for after in _changes(node):
            changed = source.encode()[:begin] + after.encode() + source.encode()[end:]
            yield Mutant(file, node.lineno, _short(before), _short(after), changed.decode(), tests)


def _short(code: str) -> str:
    return " ".join(code.split())[:100]


def _is_text_or_type(node: ast.AST) -> bool:
    """Docstrings, annotations and messages: a test need not notice a change of these."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in ("Meta", "NewType", "TypeVar", "DeclarationError")
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Name) and node.value.id in ("Annotated", "Literal")
    return isinstance(node, ast.Assert | ast.JoinedStr)


def _sizes(node: ast.AST) -> Iterator[ast.expr]:
    """The values of constants and default arguments that are in SIZES."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in SIZES:
            yield value
        case ast.arguments():
            for argument, default in zip(node.kwonlyargs, node.kw_defaults, strict=True):
                if argument.arg in SIZES and default is not None:
                    yield default


def _changes(node: ast.expr | ast.stmt) -> Iterator[str]:
    match node:
        case ast.Compare(ops=[op]) if type(op) in _COMPARISONS:
            yield ast.unparse(ast.Compare(node.left, [_COMPARISONS[type(op)]()], node.comparators))
        case ast.BoolOp():
            other = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
            yield f"({ast.unparse(ast.BoolOp(other, node.values))})"
        case ast.UnaryOp(op=ast.Not()):
            yield f"bool({ast.unparse(node.operand)})"
        case ast.IfExp():
            yield f"({ast.unparse(ast.IfExp(node.test, node.orelse, node.body))})"
        case ast.Constant(value=bool() as value):
            yield str(not value)
        case ast.Constant(value=int() | float() as value):
            yield str(value + 1)
        case ast.Raise():
            yield "pass"
        case ast.Return(value=ast.Constant(value=None)) | ast.Return(value=None):
            yield "raise AssertionError('mutant')"
        case ast.Call(func=ast.Name(id="min" | "max")):
            pass  # the order of the arguments does not matter
        case ast.Call(args=[first, second, *rest]) if not any(isinstance(one, ast.Starred) for one in node.args):
            yield ast.unparse(ast.Call(node.func, [second, first, *rest], node.keywords))
        case ast.BinOp(op=ast.Add()):
            yield ast.unparse(ast.BinOp(node.left, ast.Sub(), node.right))
        case ast.BinOp(op=ast.Sub()):
            yield ast.unparse(ast.BinOp(node.left, ast.Add(), node.right))
        case _:
            pass
