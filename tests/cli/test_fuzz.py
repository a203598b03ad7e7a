"""Broken files of many kinds: each command works, or reports in a few lines why not."""

import gzip
import io
import subprocess
import sys

import numpy as np
import pytest
from own_models import make_table, save_model

from lacunet.profile import _dependence, _profile

N_FILES = 30  # of each command
SMALL = ("--n-networks", "1", "--max-epochs", "1", "--density", "diag")
SMALL += ("--n-components", "1")
# No command ends otherwise: well, with a message, or with click's help on its usage.
ALLOWED = {0, 1, 2}


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(_profile, "MAX_PREDICTED", 1)
    monkeypatch.setattr(_dependence, "N_FOLDS", 2)
    monkeypatch.setitem(_dependence.BOOSTING, "max_iter", 1)


def make_text(rng):
    """Return a table as text, of one of the usual kinds."""
    table = make_table(int(rng.integers(5, 40)), int(rng.integers(1000)))
    separator = rng.choice([",", ";", "\t", "|"])
    marker = rng.choice(["", "NA", "?", "-999", "null"])
    decimal = "," if separator == ";" and rng.random() < 0.5 else "."
    return table.to_csv(index=False, sep=separator, na_rep=marker, decimal=decimal)


def encode(rng, text):
    name = rng.choice(["utf-8", "utf-8-sig", "utf-16", "latin-1", "utf-16-le"])
    return text.replace("Rome", "Köln").encode(str(name))


def damage_bytes(rng, data):
    """Put odd bytes into a file, take some away, or cut it."""
    pieces = [b'"', b"\n", b",", b"\r", b"\xff", b"\x00", b"inf", b"1e400", b"\xc3"]
    pieces += [b'""', b";", b"9" * 400, b"=cmd()", b"<script>", b"\t", b"1,5", b"\x1a"]
    changed = bytearray(data)
    for _ in range(rng.integers(0, 5)):
        place = int(rng.integers(len(changed)))
        piece = pieces[rng.integers(len(pieces))]
        changed[place : place + int(rng.integers(4))] = piece
    if rng.random() < 0.2:
        del changed[int(rng.integers(len(changed))) :]
    return bytes(changed)


def damage_lines(rng, text):
    """Do to lines and columns what people and programs do."""
    lines = text.split("\n")
    what = rng.integers(8)
    if what == 0:
        lines = lines[1:]  # no names
    elif what == 1:
        lines[0] = lines[0].replace("town", "age")  # the same name twice
    elif what == 2:
        lines = lines[:1]  # names alone
    elif what == 3:
        lines[int(rng.integers(len(lines)))] += ",,5"
    elif what == 4:
        lines = [line.replace("yes", "no") for line in lines]  # one class
    elif what == 5:
        lines = [lines[0], *(line.rpartition("no")[0] for line in lines[1:])]
    elif what == 6:
        lines = [f'"{line}"' for line in lines]
    else:
        lines.insert(int(rng.integers(len(lines))), "# a remark")
    return "\n".join(lines)


def make_file(rng):
    """Return the bytes of a table that something has happened to."""
    if rng.random() < 0.1:
        stream = io.BytesIO()
        make_table(20).to_parquet(stream)
        return damage_bytes(rng, stream.getvalue())
    text = make_text(rng)
    if rng.random() < 0.3:
        text = damage_lines(rng, text)
    data = encode(rng, text)
    data = damage_bytes(rng, data) if data and rng.random() < 0.4 else data
    return gzip.compress(data, mtime=0) if rng.random() < 0.05 else data


def arguments_of(command, path, folder, number):
    if command == "fit":
        out = folder / f"model-{number}"
        return ("fit", path, "--target", "ill", "-o", out, *SMALL)
    if command == "predict":
        return ("predict", folder / "m", path, "-o", folder / f"out-{number}.csv")
    return ("profile", path)


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize("command", ["profile", "fit", "predict"])
def test_no_file_gives_a_traceback(call, tmp_path, command):
    rng = np.random.default_rng(2018)
    save_model(tmp_path / "m")
    codes = []
    for number in range(N_FILES):
        path = tmp_path / "t.csv"
        path.write_bytes(make_file(rng))
        result = call(*arguments_of(command, path, tmp_path, number))
        codes.append(result.exit_code)
        ended = result.exception is None or isinstance(result.exception, SystemExit)
        assert ended, (number, result.exception, path.read_bytes())
        assert result.exit_code in ALLOWED
        if result.exit_code:
            message = result.stderr.partition("Error: ")[2]
            assert 1 <= len(message.splitlines()) <= 3, message
            assert "Traceback" not in result.output
    left = [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]
    assert not left
    assert 0.1 < np.mean(np.equal(codes, 0)) < 0.9  # damage is neither small nor large


@pytest.mark.slow
def test_real_processes_end_with_a_message(tmp_path):
    rng = np.random.default_rng(7)
    save_model(tmp_path / "m")
    for number in range(10):
        command = ("profile", "fit", "predict")[number % 3]
        path = tmp_path / "t.csv"
        path.write_bytes(make_file(rng))
        given = arguments_of(command, path, tmp_path, number)
        ended = subprocess.run(
            [sys.executable, "-m", "lacunet", *map(str, given)],
            capture_output=True,
            check=False,
            timeout=120,
        )
        assert ended.returncode in ALLOWED
        assert b"Traceback" not in ended.stderr
