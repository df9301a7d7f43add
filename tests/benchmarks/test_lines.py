"""Rounds: each has its line, together they are a median between the least and the most."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.lines import Rounds, Spread, spread_of, write_lines
from benchmarks.options import COMMON_PEAK, PEAKS, options_of
from benchmarks.report import show
from tests.benchmarks.sample import LINE, latency_of, rounds_of


@pytest.mark.parametrize(
    ("figures", "spread"),
    [
        ([3.0, 1.0, 2.0], Spread(2.0, 1.0, 3.0)),
        ([4.0, 1.0], Spread(2.5, 1.0, 4.0)),
        ([None, 7.0], Spread(7.0, 7.0, 7.0)),
        ([None], None),
        ([], None),
    ],
)
def test_the_spread_is_of_what_was_measured(figures: list[float | None], spread: Spread | None) -> None:
    assert spread_of(figures) == spread


def test_one_round_that_is_not_exact_is_not_made_up_for_by_others() -> None:
    assert not Rounds((LINE, replace(LINE, exact=False), LINE)).exact
    assert Rounds((LINE, LINE)).exact


def test_the_file_has_a_line_per_round(tmp_path: Path) -> None:
    lines = [replace(LINE, round=number, records_per_s=1 / 3, loads=(latency_of(0.5, 8.0),)) for number in (1, 2)]
    write_lines(lines, tmp_path / "results" / "some.jsonl")
    read = [json.loads(line) for line in (tmp_path / "results" / "some.jsonl").read_text().splitlines()]
    assert [line["round"] for line in read] == [1, 2]
    assert read[0]["records_per_s"] == 0.33
    assert read[0]["cpu_ms"]["driver"] == 0
    (load,) = read[0]["loads"]
    assert (load["share"], len(load["phases"]), load["phases"][0]["ms_p50"]) == (0.5, 4, 2.0)


def test_medians_spreads_phases_and_goals_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    own = rounds_of("trident", "large", records_per_s=(100.0, 300.0, 200.0))
    loads = ((latency_of(0.1, 40.0), latency_of(0.5, each)) for each in (80.0, 120.0, 100.0))
    own = Rounds(tuple(replace(line, loads=each) for line, each in zip(own.lines, loads, strict=True)))
    beside = rounds_of("structured_streaming", "large", records_per_s=(50.0, 50.0, 50.0))
    show(Console(width=200), [own, beside], COMMON_PEAK)
    words = " ".join(capsys.readouterr().out.split())
    assert "│ trident │ 200 │ 4.00 │" in words
    assert "│ │ 100 - 300 │" in words
    assert "│ trident │ 50% │ 100 │ 100 │ 100 │ │ │ │ │ 80 - 120 │ 80 - 120 │" in words
    assert "│ trident │ 10% │ p99 │ 10.0 │ 10.0 │ 10.0 │ 10.0 │ 40.0 │" in words
    assert f"steady load of a share of {PEAKS[COMMON_PEAK]}" in words
    assert "large: records/s beside Structured Streaming: 4 x structured_streaming, goal at least 3: reached" in words
    assert "wide: records/s beside a plain loop: goal at least 0.8 x floor: not measured" in words


def test_means_of_phases_add_up_over_rounds_too(capsys: pytest.CaptureFixture[str]) -> None:
    loads = [latency_of(0.5, each) for each in (40.0, 40.0, 100.0)]
    show(Console(width=200), [Rounds(tuple(replace(LINE, loads=(load,)) for load in loads))], COMMON_PEAK)
    words = " ".join(capsys.readouterr().out.split())
    assert "│ mean │ 15.0 │ 15.0 │ 15.0 │ 15.0 │ 60.0 │" in words
    assert "│ p50 │ 10.0 │ 10.0 │ 10.0 │ 10.0 │ 40.0 │" in words


def test_one_round_has_no_spread(capsys: pytest.CaptureFixture[str]) -> None:
    show(Console(width=200), [rounds_of("trident", "large", records_per_s=(100.0,))], COMMON_PEAK)
    assert " - 100" not in capsys.readouterr().out


def test_loads_are_shares_of_the_peak(capsys: pytest.CaptureFixture[str]) -> None:
    assert options_of([]).shares == (0.5,)
    assert options_of(["--loads", "0.8", "0.1", "0.8"]).shares == (0.1, 0.8)
    assert options_of(["--load-seconds", "0"]).shares == ()
    for words in (["--loads", "1.0"], ["--loads", "0"], ["--rounds", "0"]):
        with pytest.raises(SystemExit):
            options_of(words)
    assert "between 0 and 1" in capsys.readouterr().err
