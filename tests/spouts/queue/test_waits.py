"""How long a source that has nothing waits before it is asked again."""

from __future__ import annotations

from trident.spouts import ProgressiveWait, SleepWait


def test_the_first_calls_do_not_wait_then_a_little_then_longer() -> None:
    wait = ProgressiveWait(eager=2, soon=5, short_s=0.25, long_s=2.0)
    assert [wait.pause(streak) for streak in range(1, 8)] == [0.0, 0.0, 0.25, 0.25, 0.25, 2.0, 2.0]


def test_an_idle_source_is_no_hot_loop_by_itself() -> None:
    assert ProgressiveWait().pause(10_000) > 0
    assert SleepWait().pause(1) > 0


def test_a_fixed_wait_is_the_same_each_time() -> None:
    assert {SleepWait(0.5).pause(streak) for streak in (1, 10, 100_000)} == {0.5}
