import os
import secrets
import subprocess
import sys
import threading
import time
from ast import literal_eval
from contextlib import suppress
from pathlib import Path

import pytest
from tests.distributed import on_workers

from lacunet.distributed._workers import _RANK_VARIABLES, open_workers
from lacunet.exceptions import TableError


@pytest.fixture(scope="module")
def on_ray(local_ray):
    with open_workers(2) as workers:
        yield workers


@pytest.fixture(params=["this process", "ray"])
def workers(request):
    if request.param == "ray":
        return request.getfixturevalue("on_ray")
    return request.getfixturevalue("in_process")


@pytest.fixture
def in_process():
    with open_workers(0) as workers:
        yield workers


def test_results_come_in_the_order_of_the_items(workers):
    results = workers.map(on_workers.power, iter(range(9)), 3)
    assert list(results) == [item**3 for item in range(9)]


def test_an_error_of_a_call_is_raised_as_it_is(workers):
    results = workers.map(on_workers.fail_at, range(9), 2)
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(TableError) as caught:
        next(results)
    assert type(caught.value) is TableError
    assert str(caught.value) == "part-2.parquet, row group 3: the page is corrupt."
    assert list(workers.map(on_workers.power, range(5), 1)) == [0, 1, 2, 3, 4]


def test_teams_of_one_need_no_process_group(workers):
    results = workers.teams(on_workers.add_up, [[(k,)] for k in range(3)])
    assert results == [[(0, 1, float(k), 1.0)] for k in range(3)]


def test_a_team_larger_than_the_workers_is_refused(workers):
    team = [(1,)] * (workers.n + 1)
    with pytest.raises(
        ValueError, match=rf"Got a team of {len(team)} .*most {len(team) - 1}"
    ):
        workers.teams(on_workers.add_up, [team])


def test_a_worker_has_one_thread(on_ray):
    assert list(on_ray.map(on_workers.n_threads, range(2))) == [1, 1]


@pytest.mark.slow
def test_a_killed_worker_changes_no_result(on_ray, tmp_path):
    before = on_ray.n_restarts
    marker = str(tmp_path / "died")
    results = on_ray.map(on_workers.die_once, range(6), 3, marker)
    assert list(results) == [item**2 for item in range(6)]
    assert on_ray.n_restarts == before + 1


def test_members_of_a_team_add_up(on_ray):
    teams = [[(1,), (2,)], [(3,)], [(4,), (5,)], [(6,)]]
    assert on_ray.teams(on_workers.add_up, teams) == [
        [(0, 2, 3.0, 2.0), (1, 2, 3.0, 2.0)],
        [(0, 1, 3.0, 1.0)],
        [(0, 2, 9.0, 2.0), (1, 2, 9.0, 2.0)],
        [(0, 1, 6.0, 1.0)],
    ]


@pytest.mark.slow
def test_a_team_with_a_killed_member_starts_again(on_ray, tmp_path, capfd):
    before = on_ray.n_restarts
    marker = str(tmp_path / "died")
    [results] = on_ray.teams(on_workers.add_up_or_die, [[(1, marker), (2, marker)]])
    assert results == [(0, 2, 3.0, 2.0), (1, 2, 3.0, 2.0)]
    assert on_ray.n_restarts == before + 1
    assert capfd.readouterr() == ("", "")  # nothing by Ray


@pytest.mark.slow
@pytest.mark.parametrize(
    "function",
    [
        on_workers.add_up_or_fail,
        on_workers.sleep_or_fail,
    ],
)
def test_an_error_of_a_member_ends_its_team_at_once(on_ray, function):
    start = time.monotonic()
    with pytest.raises(TableError, match="member 1 found a corrupt page"):
        on_ray.teams(function, [[(60,), (60,)]])
    assert list(on_ray.map(on_workers.power, range(2), 1)) == [0, 1]
    assert time.monotonic() - start < 50


@pytest.mark.skipif(not Path("/proc/net/tcp6").exists(), reason="reads /proc")
def test_all_ports_are_on_loopback(on_ray, tmp_path):
    stop = tmp_path / "stop"
    arguments = (on_workers.wait_for, [[(str(stop),)] * 2])
    team = threading.Thread(target=on_ray.teams, args=arguments)
    team.start()
    try:
        while len(list(tmp_path.glob("stop-*"))) < 2:
            time.sleep(0.02)
        found = listening(descendants(os.getpid()))
    finally:
        stop.touch()
        team.join()
    names = [name for name, _ in found]
    assert {"gcs_server", "raylet"} < set(names)
    assert sum("Actor" in name for name in names) >= 5  # Ray's, gloo's, that to meet
    # 127.0.0.1, ::ffff:127.0.0.1 and ::1 as the kernel writes them
    loopback = {"0100007F", f"{'0' * 16}FFFF00000100007F", f"{'0' * 24}01000000"}
    assert {address for _, address in found} <= loopback


def descendants(pid):
    children = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            rest = stat.read_text().rpartition(")")[2].split()
        except OSError:  # ended meanwhile
            continue
        children.setdefault(int(rest[1]), []).append(int(stat.parent.name))
    found = [pid]
    for each in found:
        found += children.get(each, [])
    return found


def listening(pids):
    """Return (name of the process, hexadecimal address) of all listening sockets."""
    addresses = {}
    for table in ("tcp", "tcp6"):
        for line in (Path("/proc/net") / table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A":
                addresses[f"socket:[{fields[9]}]"] = fields[1]
    found = []
    for pid in pids:
        name = Path(f"/proc/{pid}/comm").read_text().strip()
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):  # closed meanwhile
                place = addresses.get(str(link.readlink()))
                if place:
                    found.append((name, place.partition(":")[0]))
    return found


@pytest.mark.parametrize(
    ("n", "address", "environment", "message"),
    [
        (-1, None, {}, "Got workers=-1, but expected 0 or more"),
        (0, "host:6379", {}, "expected at least one worker on Ray"),
        (
            2,
            None,
            dict.fromkeys(_RANK_VARIABLES, "1"),
            "under torchrun, but expected 0",
        ),
    ],
)
def test_arguments_that_do_not_go_together(
    n, address, environment, message, monkeypatch
):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=message), open_workers(n, address=address):
        pass


def test_without_ray_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with (
        pytest.raises(ImportError, match=r'pip install "lacunet\[ray\]"'),
        open_workers(2),
    ):
        pass


@pytest.mark.slow
def test_ranks_of_torchrun_are_workers(tmp_path):
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    run(*launch, on_workers.__file__, "ranks", tmp_path)
    outs = [literal_eval((tmp_path / f"{r}.txt").read_text()) for r in (0, 1)]
    assert outs[0] == outs[1]
    assert outs[0] == [
        (2, [0, 1, 4, 9, 16]),
        [
            [(0, 2, 3.0, 2.0), (1, 2, 3.0, 2.0)],
            [(0, 1, 3.0, 1.0)],
            [(0, 1, 4.0, 1.0)],
            [(0, 1, 5.0, 1.0)],
        ],
        "part-3.parquet, row group 3: the page is corrupt.",
        "member 1 found a corrupt page.",
        [0, 1, 2],
    ]


@pytest.mark.slow
def test_ray_is_left_as_it_was(tmp_path):
    pytest.importorskip("ray")
    assert run(on_workers.__file__, "ray", tmp_path) == ("", "")


def run(*arguments):
    """Run Python in a process of its own; return what it printed."""
    # Also the Ray that one of them starts by itself is on loopback only.
    environment = {
        **os.environ,
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
    }
    process = subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        out, err = process.communicate(timeout=120)
    finally:
        process.terminate()  # torchrun ends its processes then
    assert process.returncode == 0, err
    return out, err
