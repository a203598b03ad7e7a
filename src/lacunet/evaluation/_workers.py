"""Jobs on several processes, one core each, that end when they are told to."""

import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import (
    active_children,
    get_context,
    parent_process,
    resource_tracker,
)
from multiprocessing.process import BaseProcess
from typing import Self, TypeVar

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
    with Workers(n_jobs) as workers:
        yield from workers.work_through(compute, tasks)


class Workers:
    """Processes that stay for several rounds of tasks, as they are slow to begin.

    They begin when there is something to do, and are gone when the context is left.

    Parameters
    ----------
    n_jobs : int
        Number of processes; with 1 it is this one.
    """

    def __init__(self, n_jobs: int) -> None:
        self.n_jobs = n_jobs
        self._pool: ProcessPoolExecutor | None = None
        self._processes: set[BaseProcess] = set()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Let the processes end, which have nothing to do any more."""
        self._stop(at_once=kind is not None)

    def work_through(
        self, compute: Callable[[Task], Answer], tasks: Iterable[Task]
    ) -> Generator[Answer, None, None]:
        """Compute tasks on one core each, and yield answers as they come.

        Parameters
        ----------
        compute : callable
            A function of a module, if there are several processes.
        tasks : iterable

        Yields
        ------
        answer
            In any order. If the caller stops before the last, all processes are ended;
            the next round begins new ones.
        """
        if self.n_jobs == 1:
            with one_core():
                yield from map(compute, tasks)
            return
        done = False
        try:
            waiting: set[Future[Answer]] = set()
            for task in tasks:
                if len(waiting) >= _AHEAD * self.n_jobs:
                    finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                    yield from _results(finished)
                waiting.add(self._submit(compute, task))
            while waiting:
                finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                yield from _results(finished)
            done = True
        finally:
            if not done:
                self._stop(at_once=True)

    def _submit(self, compute: Callable[[Task], Answer], task: Task) -> Future[Answer]:
        """Hand a task over, and note the processes that are begun for it."""
        if self._pool is None:
            # A fork would copy locks that threads of torch hold, and could wait
            # forever.
            self._pool = ProcessPoolExecutor(
                self.n_jobs, get_context("spawn"), initializer=_begin
            )
        others = set(active_children())
        with _interrupts_later(), _deaths_explained():
            try:
                return self._pool.submit(compute, task)
            finally:
                self._processes |= set(active_children()) - others

    def _stop(self, *, at_once: bool) -> None:
        pool, self._pool = self._pool, None
        processes, self._processes = self._processes, set()
        if pool is None:
            return
        pool.shutdown(wait=not at_once, cancel_futures=True)
        if at_once:
            _end(list(processes))


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


def _results(finished: Iterable[Future[Answer]]) -> Iterator[Answer]:
    for future in finished:
        with _deaths_explained():
            answer = future.result()
        yield answer


@contextmanager
def _deaths_explained() -> Iterator[None]:
    """Say what to do if a process is gone that nobody here has ended."""
    try:
        yield
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
    """Make a process a worker: one core, and ended by its parent or with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(1)
    threadpool_limits(1)


def _end_with_parent() -> None:
    """Wait for the parent's end, and follow: a killed one could not say so."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


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
