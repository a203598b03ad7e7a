"""The laws of the training loop, with a task whose losses are written by hand."""

import itertools
import math
import re

import pytest
import torch
from sklearn.exceptions import ConvergenceWarning
from torch import nn

from lacunet import training
from lacunet.exceptions import LacunetError
from lacunet.training import AdamW, Plan, train


class Steps(nn.Module):
    """A weight that counts the steps it was given: its slope is always one."""

    def __init__(self):
        super().__init__()
        self.count = nn.Parameter(torch.zeros(()))


class ScriptedTask:
    """Validation losses by the number of steps of a part, which is that of epochs."""

    def __init__(self, *scripts, n_rows=4, at_loss=None):
        self.parts = [Steps() for _ in scripts]
        self.n_rows = n_rows
        self.scripts = scripts
        self.batches = []
        self.draws = []
        self.at_loss = at_loss

    def loss(self, part, rows, generator):
        assert self.parts[part].training
        self.batches.append((part, rows.tolist()))
        self.draws.append(float(torch.rand((), generator=generator)))
        if self.at_loss is not None:
            self.at_loss(len(self.batches))
        return -self.parts[part].count

    def validate(self, part):
        assert not self.parts[part].training
        assert not torch.is_grad_enabled()
        return float(self.scripts[part][round(self.counts()[part]) - 1])

    def counts(self):
        return [float(part.count.detach()) for part in self.parts]


class Memory:
    """A store that keeps every checkpoint, as a disk would: by value."""

    def __init__(self, found=None):
        self.found = found
        self.written = []

    def read(self):
        return self.found

    def write(self, tensors, content):
        copies = {name: tensor.clone() for name, tensor in tensors.items()}
        self.written.append((copies, {**content}))


def sgd(task):
    return [torch.optim.SGD(part.parameters(), lr=1) for part in task.parts]


def run(task, *, optimisers=None, seed=0, store=None, verbose=False, **plan):
    settings = {"max_epochs": 5, "batch_size": task.n_rows, "patience": 5, **plan}
    return train(
        task,
        optimisers or sgd(task),
        Plan(**settings),
        torch.Generator().manual_seed(seed),
        store=store,
        verbose=verbose,
    )


# --- when it ends, and with what


def test_each_part_keeps_its_own_best_weights():
    task = ScriptedTask([3, 1, 2, 2, 2], [5, 4, 3, 2, 1], [0, 1, 1, 1, 1])
    run(task)
    assert task.counts() == [2, 5, 1]
    assert not any(part.training for part in task.parts)


def test_a_part_stops_after_as_many_epochs_without_a_better_loss_as_patience():
    task = ScriptedTask([3, 1, 2, 2, 2, 0, 0, 0])
    assert len(run(task, patience=3, max_epochs=8)) == 5
    assert task.counts() == [2]


def test_a_stopped_part_gets_no_more_steps_and_no_decay():
    task = ScriptedTask([1] * 6, [6, 5, 4, 3, 2, 1])
    seen = []
    task.validate = lambda part: seen.append(task.counts()) or 6.0 - part * len(seen)
    run(task, optimisers=adam(task, weight_decay=0.1), patience=2, max_epochs=6)
    of_first = [count for count, _ in seen]
    assert len(set(of_first[-3:])) == 1
    assert [part for part, _ in task.batches] == [0, 1, 0, 1, 0, 1, 1, 1, 1]


def test_a_loss_that_is_lower_by_less_than_tol_is_not_better():
    losses = [1.0, 1.0 - 5e-4, 1.0 - 9e-4, 1.0 - 9.5e-4]
    for tol, best in ((1e-3, 1), (1e-4, 3)):
        task = ScriptedTask(losses)
        run(task, max_epochs=4, tol=tol)
        assert task.counts() == [best]


def test_max_epochs_is_the_most():
    assert len(run(ScriptedTask([5, 4, 3, 2, 1]), max_epochs=3)) == 3


@pytest.mark.parametrize(("limit", "n_steps"), [(0, 1), (2, 2), (3, 3), (6, 4)])
def test_no_step_is_made_after_the_time_limit(monkeypatch, limit, n_steps):
    ticks = iter(range(100))
    monkeypatch.setattr(training.time, "monotonic", lambda: float(next(ticks)))
    task = ScriptedTask([5, 4, 3, 2, 1], n_rows=6)
    with pytest.warns(ConvergenceWarning, match="cut by time_limit"):
        # The clock is read after every step, and before and after every epoch.
        run(task, batch_size=2, time_limit=limit)
    assert len(task.batches) == n_steps


def test_without_a_time_limit_nothing_is_cut():
    assert len(run(ScriptedTask([5, 4, 3, 2, 1]))) == 5


# --- learning rates that fall


class Rates:
    """An optimiser that makes steps of its learning rate, and remembers them."""

    def __init__(self, part):
        self.part = part
        self.param_groups = [{"params": [part.count], "lr": 1.0}]
        self.seen = []

    def zero_grad(self, set_to_none):
        pass

    def step(self):
        self.seen.append(self.param_groups[0]["lr"])
        self.part.count.data += 1


def test_a_part_that_gets_no_better_goes_on_from_its_best_at_falling_rates():
    losses = iter([5, 4, 3, 3, 3, 2, 2.5])
    task = ScriptedTask([1] * 9)
    task.validate = lambda part: float(next(losses))
    rates = Rates(task.parts[0])
    history = run(task, optimisers=[rates], patience=2, max_epochs=20, anneal=0.5)
    # The best of five epochs is the third: one and a half more, from its weights on.
    assert rates.seen == [1.0, 1.0, 1.0, 1.0, 1.0, 0.75, 0.25]
    assert len(history) == 7
    assert task.counts() == [4]


def test_annealing_ends_with_the_epochs_that_are_allowed():
    task = ScriptedTask([9, 8, 7, 6, 5, 4, 3, 2, 1, 0])
    rates = Rates(task.parts[0])
    run(task, optimisers=[rates], max_epochs=10, anneal=1.0)
    assert rates.seen[:7] == [1.0] * 7
    assert rates.seen[7:] == pytest.approx([5 / 6, 3 / 6, 1 / 6])


def test_rates_rise_over_the_warm_up():
    task = ScriptedTask([5, 4, 3, 2, 1])
    rates = Rates(task.parts[0])
    run(task, optimisers=[rates], warmup=3)
    assert rates.seen == [0.25, 0.5, 0.75, 1.0, 1.0]


# --- the rows


def test_every_row_is_in_every_epoch_once_in_another_order():
    task = ScriptedTask([9] * 9, n_rows=7)
    task.validate = lambda part: 1.0
    run(task, max_epochs=2, batch_size=3)
    assert [len(rows) for _, rows in task.batches] == [3, 3, 1] * 2
    rows = [row for _, batch in task.batches for row in batch]
    assert sorted(rows[:7]) == sorted(rows[7:]) == list(range(7))
    assert rows[:7] != rows[7:]


def test_all_parts_are_given_the_same_batches():
    task = ScriptedTask([3, 2, 1], [3, 2, 1], n_rows=5)
    run(task, max_epochs=3)
    by_part = [[rows for p, rows in task.batches if p == part] for part in (0, 1)]
    assert by_part[0] == by_part[1]


def test_the_generator_is_the_only_source_of_chance():
    before = torch.get_rng_state()
    tasks = [ScriptedTask([5, 4, 3, 2, 1], n_rows=9) for _ in range(3)]
    for task, seed in zip(tasks, (0, 0, 1), strict=True):
        run(task, seed=seed)
    assert tasks[0].batches == tasks[1].batches != tasks[2].batches
    assert tasks[0].draws == tasks[1].draws != tasks[2].draws
    assert torch.equal(torch.get_rng_state(), before)


# --- what is told


def test_the_history_tells_every_epoch():
    history = run(ScriptedTask([3, 1, 2], [5, 5, 5]), max_epochs=3, patience=1)
    assert [record.epoch for record in history] == [1, 2, 3]
    assert [record.valid_loss for record in history] == [4.0, 3.0, 2.0]
    assert [record.best for record in history] == [True, True, False]
    # Minus the number of steps before; the second part stops after two epochs.
    assert [record.train_loss for record in history] == [0.0, -1.0, -2.0]
    seconds = [record.seconds for record in history]
    assert 0 < seconds[0] < seconds[1] < seconds[2]


def test_the_training_loss_is_a_mean_over_rows_not_over_batches():
    task = ScriptedTask([1.0] * 4, n_rows=4)
    (record,) = run(task, max_epochs=1, batch_size=3)
    assert record.train_loss == (3 * 0.0 + 1 * -1.0) / 4


@pytest.fixture
def clock(monkeypatch):
    """Let every look at the clock take a second, and print every line."""
    ticks = itertools.count()
    monkeypatch.setattr(training.time, "monotonic", lambda: float(next(ticks)))
    monkeypatch.setattr("lacunet._progress._PRINTED", 0.0)


def lines_of(capsys, losses, **plan):
    run(ScriptedTask(losses), verbose=True, **plan)
    out, err = capsys.readouterr()
    assert out == ""
    return err.splitlines()


@pytest.mark.usefixtures("clock")
def test_verbose_shows_when_training_ends_at_the_latest(capsys):
    lines = lines_of(capsys, [3, 3, 3, 3], max_epochs=100, patience=3)
    assert [line.partition(":")[0] for line in lines] == [
        "epoch 1",
        "epoch 2, validation loss 3.0000",
        "epoch 3, validation loss 3.0000",
        "epoch 4, validation loss 3.0000",
    ]
    # The first loss was the best, so that it stops after epoch 4; else after 100.
    *_, third, last = (line.partition(": ")[2] for line in lines)
    assert re.fullmatch(r"0:0\d left if it gets no better, at most \d:\d\d", third)
    assert last.startswith("0:00 left if it gets no better")


@pytest.mark.usefixtures("clock")
def test_the_time_left_ends_with_the_epochs_and_the_time_limit(capsys):
    *_, last = lines_of(capsys, [3, 2, 1], max_epochs=3, patience=30)
    assert last == "epoch 3, validation loss 2.0000: at most 0:00 left"
    with pytest.warns(ConvergenceWarning, match="cut by time_limit"):
        first, *_ = lines_of(capsys, [3] * 9, max_epochs=99, patience=99, time_limit=9)
    assert re.fullmatch(r"epoch 1: at most 0:0\d left", first)


def test_lines_are_rewritten_at_a_terminal_and_else_rare(capsys, monkeypatch):
    run(ScriptedTask([3, 2, 1]), max_epochs=3)
    run(ScriptedTask([3, 2, 1]), max_epochs=3, verbose=True)  # less than ten seconds
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    run(ScriptedTask([3, 2, 1]), max_epochs=3, verbose=True)
    _, shown, cleared = capsys.readouterr().err.split("\r", 2)
    assert shown.startswith("epoch 1: ")
    assert cleared == f"{' ' * len(shown)}\r"


# --- interruptions


def interrupt_at(number):
    def hook(n_batches):
        if n_batches == number:
            raise KeyboardInterrupt

    return hook


def test_an_interrupt_in_the_middle_of_an_epoch_keeps_the_best_weights():
    task = ScriptedTask([9, 9, 9, 3, 9, 4, 9], n_rows=4, at_loss=interrupt_at(6))
    with pytest.warns(UserWarning, match="interrupted after 2 epochs. The best wei"):
        history = run(task, batch_size=2)
    assert [record.valid_loss for record in history] == [9.0, 3.0]
    assert task.counts() == [4]
    assert not task.parts[0].training


def test_an_interrupt_in_the_first_epoch_leaves_what_there_is():
    task = ScriptedTask([9, 9], n_rows=4, at_loss=interrupt_at(2))
    with pytest.warns(UserWarning, match="interrupted after 0 epochs"):
        assert run(task, batch_size=2) == []
    assert task.counts() == [1]
    assert not task.parts[0].training


def test_other_errors_are_not_swallowed():
    def fail(n_batches):
        msg = "broken"
        raise RuntimeError(msg)

    with pytest.raises(RuntimeError, match="broken"):
        run(ScriptedTask([1], at_loss=fail))


@pytest.mark.parametrize("loss", [math.nan, math.inf])
def test_a_first_loss_that_is_no_number_is_an_error(loss):
    with pytest.raises(LacunetError, match=r"(nan|inf) in epoch 1.*Lower the learning"):
        run(ScriptedTask([loss, 1, 1]))


def test_a_later_loss_that_is_no_number_ends_training_with_a_warning():
    task = ScriptedTask([3, 2, math.nan, 1])
    store = Memory()
    with pytest.warns(ConvergenceWarning, match=r"nan in epoch 3.*best weights so far"):
        history = run(task, store=store)
    assert [record.valid_loss for record in history] == [3.0, 2.0]
    assert task.counts() == [2]
    assert len(store.written) == 2


# --- checkpoints


def small_task():
    return ScriptedTask([4, 3, 5, 2, 2.5, 1], [1, 2, 3, 4, 5, 6], n_rows=6)


def adam(task, **settings):
    return [
        torch.optim.AdamW(part.parameters(), lr=1.0, **settings) for part in task.parts
    ]


def own_adam(task):
    return [
        AdamW([{"params": [*part.parameters()], "lr": 1.0, "weight_decay": 0.01}])
        for part in task.parts
    ]


def facts(task, history):
    """Return all that may not depend on a break: the seconds may."""
    return task.counts(), [record[:4] for record in history]


@pytest.mark.parametrize("make", [adam, own_adam])
@pytest.mark.parametrize("n_done", [1, 2, 3, 4, 5])
def test_training_that_goes_on_ends_as_if_it_had_not_stopped(n_done, make):
    whole, store = small_task(), Memory()
    history = run(whole, optimisers=make(whole), store=store, max_epochs=6, patience=2)
    again = small_task()
    resumed = Memory(store.written[n_done - 1])
    rest = run(again, optimisers=make(again), store=resumed, max_epochs=6, patience=2)
    assert facts(again, rest) == facts(whole, history)
    assert again.batches == whole.batches[-len(again.batches) :]
    assert again.draws == whole.draws[-len(again.draws) :]
    assert len(resumed.written) == len(store.written) - n_done


def test_a_finished_training_is_not_gone_on_with():
    store = Memory()
    first = small_task()
    history = run(first, store=store, max_epochs=3)
    again = small_task()
    same = run(again, store=Memory(store.written[-1]), max_epochs=3)
    assert again.batches == []
    assert facts(again, same) == facts(first, history)


def test_more_epochs_can_be_asked_for():
    store = Memory()
    run(small_task(), store=store, max_epochs=2)
    more, whole = small_task(), small_task()
    history = run(more, store=Memory(store.written[-1]), max_epochs=6)
    assert facts(more, history) == facts(whole, run(whole, max_epochs=6))


@pytest.mark.parametrize(("losses", "n_more"), [([*range(99)][::-1], 10), ([5] * 9, 0)])
def test_more_epochs_are_made_though_the_rates_fell_for_the_end(losses, n_more):
    """Unless they fell because the part got no better: it would not now."""
    options, store = {"anneal": 1.0, "patience": 2}, Memory()
    first = run(ScriptedTask(losses), store=store, max_epochs=10, **options)
    found = Memory(store.written[-1])
    more = run(ScriptedTask(losses), store=found, max_epochs=20, **options)
    assert len(more) - len(first) == n_more


def test_the_clock_goes_on_from_the_checkpoint():
    store = Memory()
    run(small_task(), store=store, max_epochs=1)
    tensors, content = store.written[-1]
    content["history"][0][-1] = 100.0
    with pytest.warns(ConvergenceWarning, match=r"cut by time_limit after 1 epoch\."):
        history = run(small_task(), store=Memory((tensors, content)), time_limit=100.0)
    assert len(history) == 1


# --- one cycle


def rates_of_a_cycle(n_epochs, store=None, seen=None):
    """Train with the hand-made task, and return the learning rate of each step."""
    rates = [] if seen is None else seen
    task = ScriptedTask(range(100, 0, -1))
    optimiser = torch.optim.SGD(task.parts[0].parameters(), lr=0.5)
    optimiser.register_step_post_hook(
        lambda o, *_: rates.append(o.param_groups[0]["lr"])
    )
    plan = Plan(n_epochs, batch_size=2, patience=n_epochs, tol=0.0, one_cycle=True)
    task.validate = lambda part: 1.0 / len(rates)
    train(task, [optimiser], plan, torch.Generator().manual_seed(0), store=store)
    return rates


def test_the_rate_of_a_cycle_rises_and_falls_to_nothing():
    rates = rates_of_a_cycle(10)
    assert len(rates) == 20
    top = rates.index(max(rates))
    assert rates[top] == pytest.approx(0.5)
    assert top == 6
    assert rates[0] == pytest.approx(0.02)
    assert rates == sorted(rates[:top]) + sorted(rates[top:], reverse=True)
    assert 0.0 < rates[-1] < 0.01


def test_a_cycle_goes_on_where_it_was_stopped():
    whole = rates_of_a_cycle(4)
    memory = Memory()
    rates_of_a_cycle(4, store=memory)
    later = rates_of_a_cycle(4, store=Memory(memory.written[1]), seen=[0.0])
    assert later[1:] == whole[4:]


def test_the_rate_stays_without_a_cycle():
    plan = Plan(max_epochs=3, batch_size=2, patience=3)
    assert [plan.rate_factor(step, 6) for step in range(6)] == [1.0] * 6


# --- the optimiser


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_optimiser_makes_the_steps_of_torch(dtype):
    """Two groups, learning rates that change, gradients of all sizes and of zero."""
    generator = torch.Generator().manual_seed(0)
    starts = [torch.randn(4, 3, generator=generator, dtype=dtype) for _ in range(2)]
    pairs = []
    for make in (AdamW, torch.optim.AdamW):
        first, second = (nn.Parameter(start.clone()) for start in starts)
        groups = [
            {"params": [first], "lr": 0.1, "weight_decay": 0.2},
            {"params": [second], "lr": 0.01, "weight_decay": 0.0},
        ]
        pairs.append((make(groups), (first, second)))
    for step in range(20):
        slopes = [
            torch.randn(4, 3, generator=generator, dtype=dtype) * 10.0 ** (-(step % 9))
            for _ in range(2)
        ]
        slopes[0][0] = 0.0
        for optimiser, parameters in pairs:
            optimiser.zero_grad()
            assert all(parameter.grad is None for parameter in parameters)
            optimiser.param_groups[0]["lr"] = 0.1 / (1 + step)
            for parameter, slope in zip(parameters, slopes, strict=True):
                parameter.grad = slope.clone()
            optimiser.step()
        (_, ours), (_, torchs) = pairs
        torch.testing.assert_close(ours, torchs, rtol=1e-5, atol=1e-6)


def test_a_parameter_without_gradient_gets_neither_a_step_nor_decay():
    moved, still = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
    group = {"params": [moved, still], "lr": 0.1, "weight_decay": 0.5}
    moved.grad = torch.ones(2)
    AdamW([group]).step()
    assert (moved < 1).all()
    assert (still == 1).all()
