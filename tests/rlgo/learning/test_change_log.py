"""Change logs between threads that learn together, step by step."""

from __future__ import annotations

import numpy as np

from rlgo.learning.change_log import ChangeLog, _is_ahead, catch_up, clear, exchange, log_change, make_change_logs

# By the interpreter: what the compiled forms do together, test_td_search.py tells.
log_change, exchange, catch_up, is_ahead = (
    getattr(f, "py_func", f) for f in (log_change, exchange, catch_up, _is_ahead)
)


def write(change_log: ChangeLog, theta: np.ndarray, changes: list[tuple[int, float]]) -> None:
    """Change weights as a simulation does."""
    for place, amount in changes:
        theta[place] += amount
        log_change(change_log, change_log.written[0], place, amount)
        change_log.written[0] += 1


def test_each_thread_adds_what_the_others_have_published(monkeypatch):
    monkeypatch.setattr("rlgo.learning.change_log.catch_up", catch_up)
    monkeypatch.setattr("rlgo.learning.change_log._is_ahead", is_ahead)
    a, b, c = make_change_logs(3, 1.0, 4, 8)
    theta = [np.array([0, 1, 2, 3], np.float32) for _ in range(3)]
    write(a, theta[0], [(1, 0.5), (2, -1.0)])
    write(b, theta[1], [(1, 0.25)])
    assert exchange(b, theta[1])
    assert theta[1].tolist() == [0, 1.25, 2, 3]  # the first has not published anything yet
    assert exchange(a, theta[0])
    assert theta[0].tolist() == [0, 1.75, 1, 3]
    write(b, theta[1], [(3, 4.0)])
    for _ in range(2):  # nothing is added twice
        for change_log, own in zip((a, b, c, a), (*theta, theta[0]), strict=True):
            assert exchange(change_log, own)
    assert [own.tolist() for own in theta] == [[0, 1.75, 1, 7]] * 3


def test_a_thread_may_not_be_too_far_ahead(monkeypatch):
    monkeypatch.setattr("rlgo.learning.change_log.catch_up", catch_up)
    monkeypatch.setattr("rlgo.learning.change_log._is_ahead", is_ahead)
    a, b = make_change_logs(2, 1.0, 4, 8)
    theta = [np.zeros(4, np.float32) for _ in range(2)]
    while exchange(a, theta[0]):
        write(a, theta[0], 4 * [(1, 1.0)])
    assert a.written[0] == a.ahead + 4
    assert not exchange(a, theta[0])
    catch_up(b, theta[1])
    assert exchange(a, theta[0])
    assert theta[1][1] == theta[0][1] == a.written[0]
    clear([a, b])
    assert exchange(b, theta[1])
    assert theta[1][1] == theta[0][1]


def test_the_larger_the_step_the_more_often_they_exchange():
    assert [make_change_logs(2, alpha, 4, 8)[0].every for alpha in (5.0, 1.0, 0.5, 0.1, 0.001)] == [1, 2, 4, 8, 8]


def test_the_ring_holds_what_has_not_been_read(monkeypatch):
    """Right before it must wait, a thread may write `every` of its longest simulations more."""
    monkeypatch.setattr("rlgo.learning.change_log._LENGTH", 16)
    monkeypatch.setattr("rlgo.learning.change_log.catch_up", catch_up)
    monkeypatch.setattr("rlgo.learning.change_log._is_ahead", is_ahead)
    a, b = make_change_logs(2, 1.0, 4, 1_000)
    assert a.changes.shape[1] >= a.ahead + a.every * 1_000
    theta = [np.zeros(8_000, np.float32) for _ in range(2)]
    for first in (1, 5_001):  # the ring begins anew
        write(a, theta[0], [(first + k, 1.0) for k in range(2_500)])
        assert not exchange(a, theta[0])
        catch_up(b, theta[1])
    np.testing.assert_array_equal(theta[1], theta[0])
