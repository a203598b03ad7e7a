"""What tests/distributed/test_workers.py calls on workers; here for other processes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import patch

import pytest
import torch

from lacunet.distributed import _workers
from lacunet.distributed._workers import open_workers
from lacunet.exceptions import LacunetError, TableError


def power(item, exponent):
    time.sleep(0.05 * (item % 2))  # so that they do not end in their order
    return item**exponent


def fail_at(item, bad):
    if item == bad:
        msg = f"part-{bad}.parquet, row group 3: the page is corrupt."
        raise TableError(msg)
    return item


def n_threads(item):
    return torch.get_num_threads()


def die(item):
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(item, bad, marker):
    if item == bad and not Path(marker).exists():
        Path(marker).touch()
        die(item)
    return item**2


def add_up(team, value):
    tensor = torch.tensor([float(value), 1.0], dtype=torch.float64)
    team.sum_(tensor)
    return (team.rank, team.size, *tensor.tolist())


def add_up_or_die(team, value, marker):
    add_up(team, value)
    if team.rank == 1 and not Path(marker).exists():
        Path(marker).touch()
        die(value)
    return add_up(team, value)


def add_up_or_fail(team, value):
    if team.rank == 1:
        msg = f"member {team.rank} found a corrupt page."
        raise TableError(msg)
    return add_up(team, value)  # waits for the other one


def wait_for(team, path):
    add_up(team, 1)
    Path(f"{path}-{team.rank}").touch()
    while not Path(path).exists():
        time.sleep(0.05)


def sleep_or_fail(team, seconds):
    if team.rank == 1:
        msg = f"member {team.rank} found a corrupt page."
        raise TableError(msg)
    time.sleep(seconds)


def use_ranks(folder):
    """Run as a rank under torchrun: write what this rank got."""
    out = []
    with open_workers(0) as workers:
        out.append((workers.n, list(workers.map(power, range(5), 2))))
        teams = [[(1,), (2,)], [(3,)], [(4,)], [(5,)]]
        out.append(workers.teams(add_up, teams))
        for attempt in (
            lambda: list(workers.map(fail_at, range(5), 3)),
            lambda: workers.teams(add_up_or_fail, [[(1,), (2,)]]),
        ):
            try:
                attempt()
            except TableError as error:
                out.append(str(error))
        out.append(list(workers.map(power, range(3), 1)))
        (Path(folder) / f"{workers.rank}.txt").write_text(repr(out))


def join(address):
    """Join a Ray that another process started, and leave it."""
    with open_workers(1, address=address) as workers:
        assert list(workers.map(power, range(3), 2)) == [0, 1, 4]


def open_and_close(folder):
    """Start Ray in several ways and look what is left of it."""
    import ray

    def state():
        me = Path(folder).owner()
        folders = [p for p in Path("/tmp").glob("lacunet-*") if p.owner() == me]
        return dict(os.environ), signal.getsignal(signal.SIGTERM), len(folders)

    before = state()
    with open_workers(1) as workers:
        assert list(workers.map(power, range(3), 2)) == [0, 1, 4]
        assert dict(os.environ) == before[0]
    assert not ray.is_initialized()
    assert state() == before

    with (
        pytest.raises(LacunetError, match="nothing answers there"),
        open_workers(1, address="127.0.0.1:1"),
    ):
        pass
    head = ray.init(
        "local", num_cpus=1, configure_logging=False, include_dashboard=False
    )
    address = head.address_info["gcs_address"]
    subprocess.run([sys.executable, __file__, "join", address], check=True)
    for _ in range(2):
        with open_workers(1) as workers:
            assert list(workers.map(power, range(3), 2)) == [0, 1, 4]
    with (
        patch.object(_workers, "_SECONDS_FOR_CPUS", 0),
        pytest.raises(LacunetError, match="at most ., the free CPUs"),
        open_workers(2),
    ):
        pass
    assert ray.is_initialized()
    ray.shutdown()

    def kill_all():
        with open_workers(1) as workers:
            list(workers.map(die, [0]))

    def interrupt():
        with open_workers(1) as workers:
            next(workers.map(power, range(3), 2))
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(
        LacunetError, match="died more than 5 times. Most often the mem"
    ):
        kill_all()
    with pytest.raises(KeyboardInterrupt):
        interrupt()
    assert not ray.is_initialized()
    assert state()[2] == before[2]


if __name__ == "__main__":
    {"ranks": use_ranks, "ray": open_and_close, "join": join}[sys.argv[1]](sys.argv[2])
