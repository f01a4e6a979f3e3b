"""Frames and threads, with clocks set by the tests."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest
from web_tools import check_fields

from rlgo.base.threads import Workers
from rlgo.go.game import Game
from rlgo.play.player import Player, SearchStatistics
from train.play.web.searching.watch import SEND_SECONDS, Subject, Watch


class Clock:
    """Moves on by itself at each look, and when told to."""

    def __init__(self, step: float = 0.0) -> None:
        self.now, self.step = 100.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


# ---------------------------------------------------------------------------------------------
# What a search shows
# ---------------------------------------------------------------------------------------------


class Seen(Player):
    """Believes something new at each look, which takes some time."""

    name = "seen"

    def __init__(self, clock: Clock, cost: float = 0.0) -> None:
        self.clock, self.cost, self.looks = clock, cost, 0

    def statistics(self, game: Game) -> SearchStatistics:
        self.looks += 1
        self.clock.now += self.cost
        p = game.legal_moves()
        value = np.array([0.123456, np.nan])
        visits = np.array([self.looks, 0.0])
        return SearchStatistics("tree", p[:2], {"value": value, "visits": visits}, [[p[0], p[1]]], self.looks, depth=3)


def made(cost: float = 0.0, most: int = 200) -> tuple[Watch, Clock, Seen, list[str]]:
    clock, sent = Clock(), list[str]()
    player = Seen(clock, cost)
    return Watch(Subject("a", 7, "spec", Game(5)), player, sent.append, most, clock), clock, player, sent


def test_ten_messages_a_second():
    watch, clock, _, sent = made()
    for _ in range(1_000):
        clock.now += 0.01
        watch.look()
    assert len(sent) == pytest.approx(10 / SEND_SECONDS, rel=0.15)
    message = json.loads(sent[0])
    check_fields("Search", message)
    assert (message["role"], message["number"], message["moves"]) == ("a", 7, ["A1", "B1"])
    assert message["columns"] == {"value": [0.1235, None], "visits": [1, 0], "chance": [0.1235, None]}
    assert message["lines"] == {"A1": ["A1", "B1"]}


@pytest.mark.parametrize("cost", [0.001, 0.01])
def test_looking_costs_at_most_two_per_cent(cost):
    watch, clock, player, _ = made(cost)
    began = clock.now
    while clock.now - began < 60:
        clock.now += 0.007  # a slice of the search
        watch.look()
    assert player.looks * cost <= 0.021 * 60
    assert player.looks > 30


def test_one_slow_look_does_not_end_the_show():
    watch, clock, player, _ = made(10.0)  # such as one that compiled
    watch.look()
    player.cost = 0.0
    for _ in range(300):
        clock.now += 0.01
        watch.look()
    assert player.looks > 100


def test_few_frames_of_a_long_search_evenly():
    watch, clock, _, sent = made(most=16)
    for _ in range(10_000):
        watch.look()
        clock.now += 0.01
    assert 8 <= len(watch.frames) < 16
    seconds = [frame.seconds for frame in watch.frames]
    assert seconds[0] == 0
    assert np.diff(seconds).max() < 0.3 * seconds[-1]
    assert len(sent) == pytest.approx(100 / SEND_SECONDS, rel=0.15)  # to the end


def test_switched_off_it_does_nothing_until_the_end():
    watch, clock, player, sent = made()
    watch.is_on = False
    for _ in range(100):
        clock.now += 1
        watch.look()
    assert (player.looks, sent) == (0, [])
    last = watch.finish(-1)
    assert (last["final"], last["chosen"]) == (True, "resign")
    check_fields("Search", last)


# ---------------------------------------------------------------------------------------------
# Threads
# ---------------------------------------------------------------------------------------------


def test_a_worker_runs_one_thing_after_another():
    worker, seen = Workers("w"), list[int]()
    futures = [worker.submit(lambda i=i: seen.append(i) or i) for i in range(50)]
    assert [future.result(10) for future in futures] == seen == [*range(50)]
    with pytest.raises(ZeroDivisionError):
        worker.submit(lambda: 1 // 0).result(10)
    assert worker.submit(lambda: threading.current_thread().daemon).result(10)
    thread = worker.submit(threading.current_thread).result(10)
    worker.close()
    thread.join(10)
    assert not thread.is_alive()


def test_workers_share_the_work():
    """What takes long keeps one of them busy, and nothing waits for that one."""
    workers, begun, go_on = Workers("shared", 3), threading.Event(), threading.Event()

    def work() -> str:
        begun.set()
        go_on.wait(60)
        return threading.current_thread().name

    long = workers.submit(work)
    begun.wait(10)
    names = {workers.submit(lambda: threading.current_thread().name).result(10) for _ in range(6)}
    threads = [thread for thread in threading.enumerate() if thread.name.startswith("shared-")]
    go_on.set()
    assert long.result(10) == "shared-0"
    assert names <= {"shared-1", "shared-2"}
    assert len(threads) == 3
    workers.close()
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()
