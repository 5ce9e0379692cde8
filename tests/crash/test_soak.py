"""The soak runs, ends, and its exit code tells whether all checks passed."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

from domogate.families import FAMILIES
from support.fuzzing import Outcome, fuzz
from support.gateway import Gateway

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent.parent

BRIEFLY = ("--minutes", "0.02", "--seed", "7", "--only")


def refusal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The answer to wrong arguments. It runs in this process, because a new process is slow to start."""
    monkeypatch.syspath_prepend(ROOT)
    monkeypatch.setattr(sys, "argv", ["soak", *arguments])
    with pytest.raises(SystemExit) as ended:
        import_module("soak.__main__").main()
    assert ended.value.code == 2
    return capsys.readouterr().err


class TestTheSoak:
    def test_a_campaign_runs_for_its_time_and_passes(self) -> None:
        command = [sys.executable, "-m", "soak", *BRIEFLY, "bodies"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=400, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "--seed 7" in done.stdout
        assert "All passed: bodies" in done.stdout

    def test_the_attack_passes(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        """It runs in this process, because a new process and a new gateway are slow to start."""
        monkeypatch.syspath_prepend(ROOT)
        monkeypatch.setattr(import_module("soak.attack"), "SHORTEST_ROUND", 0.5)
        monkeypatch.setattr(sys, "argv", ["soak", *BRIEFLY, "attack"])
        status, said = import_module("soak.__main__").main(), capsys.readouterr().out
        assert status == 0, said
        assert "All passed: attack" in said

    def test_it_wants_some_time(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        assert "--minutes" in refusal(monkeypatch, capsys, "--minutes", "0")

    def test_it_knows_its_campaigns(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        said = refusal(monkeypatch, capsys, "--only", "miracles")
        assert all(name in said for name in ("kills", "fuzzing", "rights", "memory", "bodies"))


class TestFuzzing:
    def test_one_round_fuzzes_the_document_of_every_family(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """Only the first document is really fuzzed: tests/fuzz fuzzes each of them."""
        fuzzed: list[str] = []
        outcomes: list[Outcome] = []

        def fuzz_briefly(gateway: Gateway, slug: str, *, examples: int, seed: int) -> Outcome:
            fuzzed.append(slug)
            if not outcomes:
                outcomes.append(fuzz(gateway, slug, examples=1, seed=seed))
            return outcomes[0]

        monkeypatch.syspath_prepend(ROOT)
        campaigns = import_module("soak.campaigns")
        monkeypatch.setattr(campaigns, "fuzz", fuzz_briefly)
        one_round = SimpleNamespace(
            directory=tmp_path, seed=7, say=lambda _text: None, time_is_up=lambda: len(fuzzed) >= len(FAMILIES)
        )
        said = campaigns.CAMPAIGNS["fuzzing"].run(one_round)
        assert said.endswith(f"from {len(FAMILIES)} documents")
        assert said.startswith(f"{outcomes[0].requests * len(FAMILIES)} requests")
        assert outcomes[0].requests > 0
        assert sorted(fuzzed) == sorted(family.slug for family in FAMILIES)
