"""Jobs on several processes, one core each, that end when they are told to."""

import signal
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import active_children, get_context, resource_tracker
from multiprocessing.process import BaseProcess
from typing import TypeVar

import torch
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from lacunet.exceptions import LacunetError

Task = TypeVar("Task")
Answer = TypeVar("Answer")

# So many jobs wait for each worker, so that none is idle.
_AHEAD = 2
# Seconds that a worker has to end by itself.
_PATIENCE = 5.0


def work_through(
    compute: Callable[[Task], Answer], tasks: Iterable[Task], n_jobs: int
) -> Generator[Answer, None, None]:
    """Compute tasks on one core each, and yield answers as they come.

    Parameters
    ----------
    compute : callable
        A function of a module, if there are several processes.
    tasks : iterable
    n_jobs : int
        Number of processes; with 1 it is this one.

    Yields
    ------
    answer
        In any order. If the caller stops before the last, all processes are ended.
    """
    if n_jobs == 1:
        with one_core():
            yield from map(compute, tasks)
    else:
        yield from _work_in_processes(compute, tasks, n_jobs)


@contextmanager
def one_core() -> Iterator[None]:
    """Compute on one core, and on as many as before afterwards."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(n_threads)


def _work_in_processes(
    compute: Callable[[Task], Answer], tasks: Iterable[Task], n_jobs: int
) -> Generator[Answer, None, None]:
    others = set(active_children())
    # A fork would copy locks that threads of torch hold, and could wait forever.
    pool = ProcessPoolExecutor(n_jobs, get_context("spawn"), initializer=_begin)
    done = False
    try:
        waiting: set[Future[Answer]] = set()
        for task in tasks:
            if len(waiting) >= _AHEAD * n_jobs:
                finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                yield from _results(finished)
            with _interrupts_later():
                waiting.add(pool.submit(compute, task))
        while waiting:
            finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            yield from _results(finished)
        done = True
    finally:
        pool.shutdown(wait=done, cancel_futures=True)
        if not done:
            _end([child for child in active_children() if child not in others])


def _results(finished: Iterable[Future[Answer]]) -> Iterator[Answer]:
    for future in finished:
        try:
            yield future.result()
        except BrokenProcessPool as error:
            msg = (
                "A worker process was ended from outside, perhaps because memory ran "
                "out. What was finished is kept: start again with fewer jobs. If this "
                "comes at once, guard your script with if __name__ == '__main__'."
            )
            raise LacunetError(msg) from error


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """Let Ctrl-C wait for a moment, in which processes are begun that never see it."""
    if not hasattr(signal, "pthread_sigmask"):  # on Windows
        yield
        return
    resource_tracker.ensure_running()  # which would unblock it
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin() -> None:
    """Make a process a worker: one core, and ended by its parent alone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(1)
    threadpool_limits(1)


def _end(workers: Sequence[BaseProcess]) -> None:
    for worker in workers:
        worker.terminate()
    for worker in workers:
        worker.join(_PATIENCE)
        if worker.is_alive():
            worker.kill()
    # The pool's own thread may be the one that learns of an end: a moment passes
    # before it is known here.
    end = time.monotonic() + _PATIENCE
    while set(workers) & set(active_children()) and time.monotonic() < end:
        time.sleep(0.01)
