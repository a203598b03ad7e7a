"""Medians of rival functions, timed in turn so that noise hits all of them."""

import gc
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from threadpoolctl import threadpool_limits

Clock = Callable[[], float]

CPU: Clock = time.process_time


@dataclass(frozen=True)
class Effort:
    """How long to measure: at least so often, and at least for so many seconds."""

    repetitions: int = 31
    seconds: float = 2.0
    warm_up: int = 3


@contextmanager
def threads(number: int) -> Iterator[None]:
    """Give torch and the libraries behind numpy so many threads."""
    before = torch.get_num_threads()
    with threadpool_limits(number):
        torch.set_num_threads(number)
        try:
            yield
        finally:
            torch.set_num_threads(before)


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def time_in_turn(
    calls: Mapping[str, Callable[[], object]], clock: Clock, effort: Effort
) -> dict[str, list[float]]:
    """Call each function once a round (A, B, A, B, ...) and time every call."""
    for _ in range(effort.warm_up):
        for call in calls.values():
            call()
    samples: dict[str, list[float]] = {name: [] for name in calls}
    with _no_garbage_collection():
        end = time.perf_counter() + effort.seconds
        rounds = 0
        while rounds < effort.repetitions or time.perf_counter() < end:
            for name, call in calls.items():
                start = clock()
                call()
                samples[name].append(clock() - start)
            rounds += 1
    return samples
