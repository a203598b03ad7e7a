import pytest
from reproduction.cli._watch import Watch
from reproduction.cli._words import place_of
from reproduction.experiments import Progress

from lacunet.cli._words import clock_time


def means(watch):
    return {mean.method: (mean.value, mean.n_rows) for mean in watch.means}


@pytest.fixture
def clock():
    """Return a clock that stands still, and can be set."""

    def read():
        return read.now

    read.now = 100.0
    return read


def test_means_are_over_folds_first_and_then_over_rows(cell):
    watch = Watch()
    watch.take(Progress(0, 4, (), "table-4"))
    for done, (value, place) in enumerate(
        [
            (0.5, {"fold": 0}),
            (0.7, {"fold": 1}),
            (1.0, {"dataset": "iris"}),
        ],
        1,
    ):
        watch.take(Progress(done, 4, (cell(value=value, **place),), "table-4"))
    assert means(watch) == {"knn": (pytest.approx(0.8), 2)}


def test_means_take_in_earlier_runs_and_leave_out_what_is_empty(cell):
    watch = Watch()
    before = (cell(value=0.2), cell("ce", why="no complete rows"))
    watch.take(Progress(2, 3, (), "table-4", before))
    assert means(watch) == {"knn": (0.2, 1)}
    watch.take(Progress(3, 3, (cell(value=0.4, dataset="iris"),), "table-4"))
    assert means(watch) == {"knn": (pytest.approx(0.3), 2)}


def test_means_stand_in_the_order_of_the_table(cell):
    watch = Watch()
    before = tuple(map(cell, ("paper", "hgb", "karma", "knn")))
    watch.take(Progress(4, 9, (), "table-4", before))
    assert list(means(watch)) == ["karma", "knn", "paper", "hgb"]


def test_of_several_metrics_the_first_counts(cell):
    watch = Watch()
    watch.take(Progress(0, 1, (), "table-1"))
    cells = [cell(metric=m, value=0.1) for m in ("mse_outside", "mse", "mse_inside")]
    assert watch.take(Progress(1, 1, tuple(cells), "table-1")) == (cells[1],)
    assert watch.metric == "mse"
    assert len(watch.means) == 1


def test_another_experiment_begins_anew(cell):
    watch = Watch()
    watch.take(Progress(0, 1, (), "table-4"))
    watch.take(Progress(1, 1, (cell(why="no"),), "table-4"))
    watch.take(Progress(2, 5, (), "table-6"))
    assert (watch.experiment, watch.done, watch.total) == ("table-6", 2, 5)
    assert watch.means == []
    assert {name: len(cells) for name, cells in watch.empty.items()} == {
        "table-4": 1,
        "table-6": 0,
    }


def test_time_left_goes_by_what_was_run_now(clock, cell):
    watch = Watch(clock)
    watch.take(Progress(4, 10, (), "table-4"))
    assert watch.seconds_left() is None
    clock.now += 30
    watch.take(Progress(7, 10, (cell(),), "table-4"))
    assert watch.seconds_left() == 30
    clock.now += 3
    assert watch.seconds_left() == 33
    watch.take(Progress(10, 10, (cell(),), "table-4"))
    assert watch.seconds_left() == 0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0:00"),
        (59.6, "1:00"),
        (61, "1:01"),
        (3599.6, "1:00:00"),
        (90061, "25:01:01"),
    ],
)
def test_seconds_are_told_as_on_a_clock(seconds, text):
    assert clock_time(seconds) == text


def test_cells_are_named_by_what_is_not_the_first(cell):
    assert place_of(cell()) == "wine 0.2, knn"
    assert place_of(cell(rate=None)) == "wine, knn"
    assert place_of(cell(rate=0.0, fold=3, seed=1)) == "wine 0, knn, fold 3, seed 1"
