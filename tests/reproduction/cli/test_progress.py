import pytest
from reproduction.cli._progress import shown
from reproduction.cli._watch import Watch
from reproduction.experiments import Progress

from lacunet.cli._terminal import Terminal


def story(cell):
    """Return what a run of two cells, one there before, tells."""
    yield Progress(1, 3, (), "table-4", (cell(dataset="iris", value=0.7),))
    yield Progress(2, 3, (cell(value=0.9),), "table-4")
    yield Progress(3, 3, (cell("ce", why="no complete rows"),), "table-4")
    yield Progress(0, 0, (), "figure-gamma")


def watched(terminal, cell):
    watch = Watch(lambda: 0.0)
    with shown(terminal, watch) as told:
        for progress in story(cell):
            told(progress)
    return watch


def test_lines_are_written_where_there_is_no_terminal(capsys, cell):
    watched(Terminal(), cell)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "table-4 1/3",
        "table-4 2/3: wine 0.2, knn: accuracy 0.9000 in 1.0 s",
        "table-4 3/3: wine 0.2, ce: no accuracy: no complete rows",
        "table-4, mean accuracy: knn 0.8000 (2)",
        "figure-gamma 0/0",
    ]


def test_lines_tell_the_time_that_is_left(capsys, cell):
    times = iter([0.0, 0.0, 60.0])
    with shown(Terminal(), Watch(lambda: next(times))) as told:
        told(Progress(0, 3, (), "table-4"))
        told(Progress(1, 3, (cell(),), "table-4"))
    assert capsys.readouterr().err.endswith("in 1.0 s, about 2:00 left\n")


def test_quiet_is_quiet_and_still_watches(capsys, cell):
    watch = watched(Terminal(quiet=True), cell)
    assert capsys.readouterr() == ("", "")
    assert len(watch.empty["table-4"]) == 1


def test_a_terminal_has_a_bar_and_means(screen, cell):
    watch = Watch(lambda: 0.0)
    with shown(Terminal(), watch) as told:
        steps = story(cell)
        told(next(steps))
        told(next(steps))
    last = screen.getvalue()
    assert "table-4" in last
    assert "2/3" in last
    assert "about 0:00 left" in last
    assert "mean accuracy so far (rows of the table)" in last
    assert "knn 0.8000 (2)" in last


def test_quiet_draws_nothing(screen, cell):
    watched(Terminal(quiet=True), cell)
    assert screen.getvalue() == ""


def test_the_bar_is_gone_and_the_cursor_back_after_an_interrupt(screen, cell):
    with pytest.raises(KeyboardInterrupt), shown(Terminal(), Watch()):
        raise KeyboardInterrupt
    assert "\x1b[?25h" in screen.getvalue()  # show the cursor
    assert screen.getvalue().endswith("\x1b[2K")  # erase the line


def test_a_terminal_that_can_not_draw_gets_lines(monkeypatch, capsys, cell):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    watched(Terminal(), cell)
    assert "table-4 2/3: wine" in capsys.readouterr().err
