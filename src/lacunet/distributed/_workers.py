"""Where calls run: in this process, on Ray, or on the ranks that torchrun started.

What is called is a function at the top level of a module, with arguments that can be
pickled. Arguments and results may share memory with other processes: neither may be
changed in place. A call may be run again after its worker died, so it must be free to
repeat.
"""

import os
import secrets
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Protocol
from unittest.mock import patch

import torch
from torch import Tensor, distributed

from lacunet.exceptions import LacunetError

Call = Callable[..., Any]
Arguments = tuple[Any, ...]
Calls = Sequence[Sequence[Arguments]]  # the arguments of each member of each team

# How often a worker is started again, and how often a team.
_MOST_RESTARTS = 5
# Others may work for days while a rank waits; that a rank is gone is seen by its closed
# connection, not by this.
_PATIENCE = timedelta(days=30)
_CONNECTING = timedelta(minutes=5)
_SECONDS_FOR_CPUS = 30
# Ray spills to disk what does not fit: calls return statistics, not tables.
_OBJECT_STORE_BYTES = 200_000_000
_RANK_VARIABLES = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}


@contextmanager
def open_workers(n: int, *, address: str | None = None) -> "Iterator[Workers]":
    """Open workers, and close them in the end, also after an error.

    Parameters
    ----------
    n : int
        Number of workers on Ray. 0 runs everything in this process, without Ray; or on
        the ranks, if torchrun started this process as one of several.
    address : str, optional
        Address of a Ray cluster that is running. By default a Ray is started that
        listens on the loopback interface only, and it is stopped in the end. A Ray that
        this process is connected to already is used, and left as it is.

    Yields
    ------
    Workers

    Examples
    --------
    >>> with open_workers(0) as workers:
    ...     list(workers.map(pow, [2, 3], 2))
    [4, 9]
    """
    is_rank = os.environ.keys() >= _RANK_VARIABLES
    if n < 0:
        msg = f"Got workers={n!r}, but expected 0 or more."
        raise ValueError(msg)
    if n == 0 and address is not None:
        msg = (
            f"Got ray_address={address!r} with workers=0, but expected at least one "
            "worker on Ray. Set workers too."
        )
        raise ValueError(msg)
    if n > 0 and is_rank:
        msg = (
            f"Got workers={n!r} under torchrun, but expected 0: there the ranks are "
            "the workers."
        )
        raise ValueError(msg)
    if n > 0:
        with _connect_ray(n, address):
            on_ray = _RayWorkers(n)
            try:
                yield on_ray
            finally:
                on_ray.close()
    elif is_rank:
        with _process_group() as group:
            yield _Ranks(group)
    else:
        yield _ThisProcess()


def will_be_local(address: str | None) -> bool:
    """Return whether a Ray would be started on this machine, not one joined."""
    ray = sys.modules.get("ray")
    return address is None and not (ray is not None and ray.is_initialized())


class Workers(Protocol):
    """Run calls.

    Attributes
    ----------
    n : int
        How many calls run at a time, at least 1.
    n_restarts : int
        Workers that died and were started again so far.
    rank : int
        0, except under torchrun: there every rank runs the same program, and only the
        one with rank 0 should write files and show progress.
    """

    n: int
    n_restarts: int
    rank: int

    def map(self, function: Call, items: Iterable[Any], *shared: Any) -> Iterator[Any]:
        """Yield ``function(item, *shared)`` in the order of the items.

        Only a few items are under way at a time, so that memory stays bounded.
        """

    def teams(self, function: Call, calls: Calls) -> list[list[Any]]:
        """Return ``function(team, *arguments)`` for every member of every team.

        The members of a team run at the same time, each on a worker of its own. If one
        dies, the whole team is started again.
        """


@dataclass
class Team:
    """The workers that compute something together, seen from one of them."""

    rank: int
    size: int
    group: distributed.ProcessGroup | None = None

    def sum_(self, tensor: Tensor) -> None:
        """Replace a tensor by its sum over the members, on all of them."""
        if self.size > 1:
            try:
                distributed.all_reduce(tensor, group=self.group)
            except RuntimeError as error:  # all that gloo raises
                raise _ConnectionLostError(str(error)) from error


class _ConnectionLostError(LacunetError):
    """Raised in a member of a team when another one is gone, for whatever reason."""


class _WorkerDiedError(LacunetError):
    """Raised when a worker is gone for good, or with its call of a team."""


def _check_teams(calls: Calls, n: int) -> None:
    largest = max(map(len, calls), default=0)
    if largest > n:
        msg = (
            f"Got a team of {largest} members, but expected at most {n}, because each "
            "needs a worker of its own. Start more workers."
        )
        raise ValueError(msg)


# --- in this process


class _ThisProcess:
    n = 1
    n_restarts = 0
    rank = 0

    def map(self, function: Call, items: Iterable[Any], *shared: Any) -> Iterator[Any]:
        for item in items:
            yield function(item, *shared)

    def teams(self, function: Call, calls: Calls) -> list[list[Any]]:
        _check_teams(calls, self.n)
        return [
            [function(Team(0, 1), *arguments) for arguments in team] for team in calls
        ]


# --- on the ranks of torchrun


@contextmanager
def _process_group() -> Iterator[distributed.ProcessGroup]:
    """Connect the ranks, patiently."""
    if distributed.is_initialized():
        yield distributed.new_group(backend="gloo", timeout=_PATIENCE)
        return
    distributed.init_process_group("gloo", timeout=_PATIENCE)
    try:
        group = distributed.group.WORLD
        assert group is not None
        yield group
    finally:
        distributed.destroy_process_group()


class _Ranks:
    """Every rank runs the same program and gets all results."""

    def __init__(self, group: distributed.ProcessGroup) -> None:
        self._group = group
        self.n = distributed.get_world_size(group)
        self.rank = distributed.get_rank(group)
        self.n_restarts = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))

    def map(self, function: Call, items: Iterable[Any], *shared: Any) -> Iterator[Any]:
        rest = iter(items)
        while dealt := list(islice(rest, self.n)):
            call = None
            if self.rank < len(dealt):
                call = partial(function, dealt[self.rank], *shared)
            yield from self._exchange(call)[: len(dealt)]

    def teams(self, function: Call, calls: Calls) -> list[list[Any]]:
        _check_teams(calls, self.n)
        results: list[list[Any]] = []
        while len(results) < len(calls):
            # As many teams as fit on the ranks, one behind the other.
            call, ends = None, [0]
            for team in calls[len(results) :]:
                first, end = ends[-1], ends[-1] + len(team)
                if end > self.n:
                    break
                ends.append(end)
                # All ranks take part in making a group, also those outside of it.
                member = Team(self.rank - first, len(team))
                if member.size > 1:
                    ranks = [
                        distributed.get_global_rank(self._group, rank)
                        for rank in range(first, end)
                    ]
                    member.group = distributed.new_group(
                        ranks, backend="gloo", timeout=_PATIENCE
                    )
                if first <= self.rank < end:
                    call = partial(_leave_after, function, member, *team[member.rank])
            values = self._exchange(call)
            results += [values[a:b] for a, b in zip(ends[:-1], ends[1:], strict=True)]
        return results

    def _exchange(self, call: Callable[[], Any] | None) -> list[Any]:
        """Return the results of all ranks, or raise the first error on all of them."""
        value, error = None, None
        try:
            value = call() if call is not None else None
        # Any error: if it left this rank alone, the others would wait for it.
        except Exception as caught:
            error = caught
        outcomes: list[Any] = [None] * self.n
        distributed.all_gather_object(outcomes, (value, error), group=self._group)
        outcomes[self.rank] = (value, error)  # the own error with its traceback
        errors = [error for _, error in outcomes if error is not None]
        # The connections of a team break because of some other error.
        errors.sort(key=lambda each: isinstance(each, _ConnectionLostError))
        if errors:
            raise errors[0]
        return [value for value, _ in outcomes]


def _leave_after(function: Call, team: Team, *arguments: Any) -> Any:
    """Call as a member; in the end leave, so that nobody waits after an error."""
    try:
        return function(team, *arguments)
    finally:
        # The connections are closed with the last reference to the group.
        group, team.group = team.group, None
        if group is not None:
            distributed.destroy_process_group(group)
        del group


# --- on Ray


@contextmanager
def _connect_ray(n: int, address: str | None) -> Iterator[None]:
    """Start a Ray or join one; stop or leave it in the end."""
    try:
        import ray
    except ImportError as error:
        msg = (
            f"Got workers={n!r}, but expected the package ray for that. Install it "
            'with pip install "lacunet[ray]", or take workers=0.'
        )
        raise ImportError(msg) from error
    with ExitStack() as stack:
        if not ray.is_initialized():
            # Ray prints that a worker died on stdout, whatever log_to_driver is.
            stack.enter_context(
                patch("ray._private.worker.print_to_stdstream", lambda *_, **__: None)
            )
            if address in (None, "local"):
                _start_ray(n, stack)
            else:
                _check_answer(address)
                stack.callback(ray.shutdown)
                with _own_sigterm(stack):
                    ray.init(address, log_to_driver=False, configure_logging=False)
        # Workers that were just closed need a moment to free their CPUs.
        end = time.monotonic() + _SECONDS_FOR_CPUS
        while (n_free := int(ray.available_resources().get("CPU", 0))) < n:
            if time.monotonic() > end:
                msg = (
                    f"Got workers={n!r}, but expected at most {n_free}, the free CPUs "
                    "of the Ray that is running. Take fewer workers, or add nodes."
                )
                raise LacunetError(msg)
            time.sleep(0.1)
        yield


def _check_answer(address: str) -> None:
    """Raise an error if nothing listens there: Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    if "/" in host or not port.isdigit():  # "auto", or an address of another kind
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=30).close()
    except OSError as error:
        msg = (
            f"Got ray_address={address!r}, but expected a Ray that is running: nothing "
            f"answers there ({error}). Start one with ray start --head."
        )
        raise LacunetError(msg) from error


def _start_ray(n: int, stack: ExitStack) -> None:
    """Start a Ray that only this process can reach, until the stack is closed."""
    import ray
    from ray._raylet import AuthenticationTokenLoader, Config

    # Ray puts sockets into it, whose paths must not be longer than about 100.
    short = Path("/tmp")
    folder = tempfile.mkdtemp(prefix="lacunet-", dir=short if short.is_dir() else None)
    stack.callback(shutil.rmtree, folder, ignore_errors=True)

    def read_variables() -> None:
        """Let Ray read anew what it reads once in a process."""
        Config.initialize("")
        AuthenticationTokenLoader.instance().reset_cache()

    stack.callback(read_variables)
    stack.callback(ray.shutdown)
    variables = {
        "RAY_USAGE_STATS_ENABLED": "0",
        # Other users of the machine reach the loopback interface too.
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        # Else Ray warns of a change in its next version.
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    }
    with (
        patch.dict(os.environ, variables),
        # Only so does Ray take 127.0.0.1 as its address, and its servers listen there.
        patch("ray._private.ray_constants.ENABLE_RAY_CLUSTER", False),
        _own_sigterm(stack),
    ):
        read_variables()
        ray.init(
            "local",
            num_cpus=n,
            num_gpus=0,
            object_store_memory=_OBJECT_STORE_BYTES,
            include_dashboard=False,
            log_to_driver=False,
            configure_logging=False,
            _node_ip_address="127.0.0.1",
            _temp_dir=folder,
        )


@contextmanager
def _own_sigterm(stack: ExitStack) -> Iterator[None]:
    """Keep the handler of SIGTERM that ray.init replaces, if there is one.

    If there is none, that of Ray stays as long as Ray runs: it lets the process end as
    after an exception.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if before is signal.SIG_DFL:
            stack.callback(signal.signal, signal.SIGTERM, before)
        else:
            signal.signal(signal.SIGTERM, before)


class _RayWorkers:
    """Actors of Ray, each a process with one thread."""

    rank = 0

    def __init__(self, n: int) -> None:
        import ray

        self._ray = ray
        self._new_actor = ray.remote(
            num_cpus=1, max_restarts=_MOST_RESTARTS, max_task_retries=_MOST_RESTARTS
        )(_Actor).remote
        self._actors = [self._new_actor() for _ in range(n)]
        self._pids: list[int | None] = [None] * n
        self.n = n
        self.n_restarts = 0
        started = [actor.prepare.remote(False) for actor in self._actors]
        for worker, reference in enumerate(started):
            self._get(worker, reference)

    def close(self) -> None:
        for actor in self._actors:
            self._ray.kill(actor)

    def map(self, function: Call, items: Iterable[Any], *shared: Any) -> Iterator[Any]:
        shared_reference = self._ray.put(shared)
        numbered = enumerate(items)
        waiting: deque[tuple[int, Any]] = deque()
        try:
            while True:
                for number, item in islice(numbered, 2 * self.n - len(waiting)):
                    worker = number % self.n
                    call = self._actors[worker].call
                    # In a list, so that the worker fetches it, once for all its calls.
                    reference = call.remote(function, item, [shared_reference])
                    waiting.append((worker, reference))
                if not waiting:
                    return
                yield self._get(*waiting.popleft())
        finally:
            for _, reference in waiting:
                self._ray.cancel(reference)

    def teams(self, function: Call, calls: Calls) -> list[list[Any]]:
        _check_teams(calls, self.n)
        results: list[list[Any]] = [[None] * len(team) for team in calls]
        waiting = deque(range(len(calls)))
        free = list(range(self.n))
        running: dict[Any, tuple[int, int, int]] = {}  # team, rank, worker
        broken: dict[int, LacunetError] = {}
        n_failures: Counter[int] = Counter()
        try:
            while waiting or running:
                while waiting and len(calls[waiting[0]]) <= len(free):
                    team = waiting.popleft()
                    members = [free.pop(0) for _ in calls[team]]
                    references = self._start_team(function, calls[team], members)
                    for rank, (reference, worker) in enumerate(
                        zip(references, members, strict=True)
                    ):
                        running[reference] = (team, rank, worker)
                if not running:  # a team without members
                    continue
                [reference], _ = self._ray.wait(list(running), num_returns=1)
                team, rank, worker = running.pop(reference)
                free.append(worker)
                try:
                    results[team][rank] = self._get(worker, reference)
                except _ConnectionLostError as error:
                    broken.setdefault(team, error)  # the cause comes from another one
                except _WorkerDiedError as error:
                    broken[team] = error
                    for other in [r for r, each in running.items() if each[0] == team]:
                        _, _, worker = running.pop(other)
                        self._replace(worker)
                        free.append(worker)
                if team in broken and all(each[0] != team for each in running.values()):
                    n_failures[team] += 1
                    reason = broken.pop(team)
                    if n_failures[team] > _MOST_RESTARTS:
                        raise reason
                    waiting.appendleft(team)
        finally:
            # After an error, what still runs is of no use.
            for _, _, worker in running.values():
                self._replace(worker)
        return results

    def _start_team(
        self, function: Call, calls: Sequence[Arguments], members: Sequence[int]
    ) -> list[Any]:
        """Start the members; return references to what they will return."""
        # This call waits until a worker that died is there again; that of the team must
        # fail instead, because the others have to start again as well.
        ready = [
            self._actors[worker].prepare.remote(rank == 0 and len(members) > 1)
            for rank, worker in enumerate(members)
        ]
        places = [self._get(*each) for each in zip(members, ready, strict=True)]
        return [
            self._actors[worker]
            .join.options(max_task_retries=0)
            .remote(function, rank, len(members), places[0], calls[rank])
            for rank, worker in enumerate(members)
        ]

    def _get(self, worker: int, reference: Any) -> Any:
        """Return a result; raise the error of the function as it was raised there."""
        from ray.exceptions import RayError, RayTaskError

        try:
            pid, value = self._ray.get(reference)
        except RayTaskError as error:
            raise error.cause from error
        except RayError as error:
            msg = (
                f"A worker died more than {_MOST_RESTARTS} times. Most often the "
                "memory is used up: take fewer workers, or machines with more memory. "
                f"Ray's report: {' '.join(str(error).split())}"
            )
            raise _WorkerDiedError(msg) from error
        if self._pids[worker] not in (None, pid):
            self.n_restarts += 1
        self._pids[worker] = pid
        return value

    def _replace(self, worker: int) -> None:
        """End a call that is under way, with its worker, and start another worker."""
        self._ray.kill(self._actors[worker])
        self._actors[worker] = self._new_actor()
        self._pids[worker] = None


class _Actor:
    """One worker. All calls return its process id too: another one is a restart."""

    def __init__(self) -> None:
        import ray

        torch.set_num_threads(1)
        self._ray = ray
        self._host = ray.util.get_node_ip_address()
        self._shared: tuple[Any, Any] = (None, None)
        self._listener: socket.socket | None = None
        if self._host == "127.0.0.1":
            loopback = [name for _, name in socket.if_nameindex() if name[:2] == "lo"]
            os.environ["GLOO_SOCKET_IFNAME"] = loopback[0]

    def call(self, function: Call, item: Any, shared: list[Any]) -> tuple[int, Any]:
        if self._shared[0] != shared[0]:
            self._shared = (shared[0], self._ray.get(shared[0]))
        return os.getpid(), function(item, *self._shared[1])

    def prepare(self, is_first: bool) -> tuple[int, tuple[str, int] | None]:
        """Get ready for a team; its first member opens the port where all meet."""
        if not is_first:
            return os.getpid(), None
        self._listener = socket.create_server((self._host, 0))
        return os.getpid(), self._listener.getsockname()[:2]

    def join(
        self,
        function: Call,
        rank: int,
        size: int,
        place: tuple[str, int] | None,
        arguments: Arguments,
    ) -> tuple[int, Any]:
        """Call as a member of a team."""
        if place is None:
            return os.getpid(), function(Team(0, 1), *arguments)
        listener, self._listener = self._listener, None
        try:
            store = distributed.TCPStore(  # type: ignore[attr-defined]
                *place,
                world_size=size,
                is_master=rank == 0,
                timeout=_CONNECTING,
                wait_for_workers=False,
                # The port that a store opens by itself is open to all networks.
                master_listen_fd=listener.detach() if listener else None,
            )
            distributed.init_process_group(
                "gloo", store=store, rank=rank, world_size=size, timeout=_PATIENCE
            )
        except RuntimeError as error:
            raise _ConnectionLostError(str(error)) from error
        team = Team(rank, size, distributed.group.WORLD)
        return os.getpid(), _leave_after(function, team, *arguments)
