import math
import os
import signal
import subprocess
import sys
import time
from multiprocessing import active_children, get_context

import pytest
import torch

from lacunet.evaluation._workers import Workers, one_core, work_through
from lacunet.exceptions import LacunetError


def test_one_process_computes_on_one_core_and_gives_the_others_back():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert list(work_through(lambda _: torch.get_num_threads(), [0], 1)) == [1]
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_cores_are_given_back_after_a_failure():
    before = torch.get_num_threads()
    with pytest.raises(ZeroDivisionError), one_core():
        1 / 0  # noqa: B018
    assert torch.get_num_threads() == before


def test_tasks_are_drawn_as_they_are_needed():
    drawn = []
    answers = work_through(math.sqrt, (drawn.append(i) or i for i in range(9)), 1)
    next(answers)
    assert drawn == [0]
    answers.close()


@pytest.mark.slow
def test_processes_answer_and_are_ended_when_nobody_waits():
    answers = work_through(time.sleep, [0, 0, 600, 600], 2)
    assert [next(answers), next(answers)] == [None, None]
    assert len(active_children()) == 2
    start = time.monotonic()
    answers.close()
    assert active_children() == []
    assert time.monotonic() - start < 30


@pytest.mark.slow
def test_all_answers_come_from_several_processes():
    assert sorted(work_through(math.sqrt, range(10), 2)) == [
        math.sqrt(i) for i in range(10)
    ]


@pytest.mark.slow
def test_a_process_that_dies_is_told_with_what_to_do():
    with pytest.raises(LacunetError, match="start again with fewer jobs"):
        list(work_through(os._exit, [1, 1], 2))
    assert active_children() == []


SCRIPT = """
import time
from lacunet.evaluation._workers import work_through
if __name__ == "__main__":
    try:
        for _ in work_through(time.sleep, [0, 600, 600], 2):
            print("begun", flush=True)
    except KeyboardInterrupt:
        print("ended", flush=True)
"""


def begin_script(path):
    path.write_text(SCRIPT)
    process = subprocess.Popen(
        [sys.executable, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout.readline() == "begun\n"
    return process


@pytest.mark.slow
def test_processes_end_when_the_first_one_is_killed(tmp_path):
    process = begin_script(tmp_path / "script.py")
    process.kill()
    process.communicate(timeout=60)
    assert is_gone(process.pid)


@pytest.mark.slow
def test_an_interrupt_ends_all_processes_without_a_word(tmp_path):
    process = begin_script(tmp_path / "script.py")
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to all of them
    out, err = process.communicate(timeout=60)
    assert (out, err, process.returncode) == ("ended\n", "", 0)
    assert is_gone(process.pid)


def is_gone(group, patience=30):
    """Return whether a group of processes is gone, as soon as it has been reaped."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


def process_of(task):
    return os.getpid()


def test_no_process_is_begun_before_there_is_something_to_do():
    with Workers(2) as workers:
        assert list(workers.work_through(process_of, [])) == []
        assert active_children() == []


@pytest.mark.slow
def test_processes_stay_for_the_next_round_and_are_gone_at_the_end():
    with Workers(2) as workers:
        rounds = [set(workers.work_through(process_of, range(8))) for _ in range(3)]
        assert len(active_children()) == len(set.union(*rounds)) <= 2
    assert active_children() == []


@pytest.mark.slow
def test_a_round_that_was_given_up_ends_processes_and_the_next_begins_others():
    with Workers(2) as workers:
        answers = workers.work_through(time.sleep, [0, 600, 600])
        next(answers)
        answers.close()
        assert active_children() == []
        assert sorted(workers.work_through(math.sqrt, [4, 9])) == [2, 3]
    assert active_children() == []


@pytest.mark.slow
def test_workers_leave_other_processes_alone():
    other = get_context("spawn").Process(target=time.sleep, args=(600,))
    with Workers(2) as workers:
        list(workers.work_through(math.sqrt, [1]))
        other.start()
        workers.work_through(time.sleep, [0, 600]).send(None)  # and is given up
        assert active_children() == [other]
    assert active_children() == [other]
    other.kill()
    other.join()


@pytest.mark.slow
def test_a_process_that_died_between_rounds_is_told_with_what_to_do():
    with Workers(2) as workers:
        (process,) = workers.work_through(process_of, [0])
        os.kill(process, signal.SIGKILL)
        with pytest.raises(LacunetError, match="start again with fewer jobs"):
            list(workers.work_through(time.sleep, [0.1] * 9))
    assert active_children() == []
