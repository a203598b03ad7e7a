import os

from lacunet.cli._options import count_cores


def test_cores_are_those_that_this_process_may_use(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 5}, raising=False)
    assert count_cores() == 3
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(64))
    assert count_cores() == 8


def test_cores_are_counted_where_that_can_not_be_told(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert count_cores() == 2
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert count_cores() == 1
