"""Models and checkpoints on disk: what is written comes back, or is refused."""

import functools
import hashlib
import json
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from lacunet.estimators import _saving
from lacunet.estimators._saving import (
    FORMAT,
    CheckpointFile,
    check_place,
    read_model,
    write_model,
)
from lacunet.exceptions import LacunetError

CONTENT = {
    "class": "LacunetClassifier",
    "parameters": {"gamma": 0.1 + 0.2, "tiny": 5e-324, "zero": -0.0, "none": None},
    "schema": ["ß", "\ud800", True, 2**70, [[]]],
}


def write_checkpoint(path, tensors, content):
    CheckpointFile(path).write(tensors, content)


def read_checkpoint(path):
    tensors, content = CheckpointFile(path).read()
    assert (content.pop("owner"), content.pop("seed")) == ("", None)
    return tensors, content


CHECKPOINT, MODEL = "checkpoint", "model"
WRITE = {
    MODEL: functools.partial(write_model, force=True),
    CHECKPOINT: write_checkpoint,
}
READ = {MODEL: read_model, CHECKPOINT: read_checkpoint}

both = pytest.mark.parametrize("kind", [MODEL, CHECKPOINT])


def make_tensors():
    base = torch.arange(12, dtype=torch.float64).reshape(3, 4)
    return {
        "float32": torch.tensor([1.0, -0.0, float("nan"), float("inf")]),
        "float64": base,
        "shared": base[1],
        "transposed": base.T,
        "int64": torch.tensor([2**62, -1]),
        "bool": torch.tensor([True, False]),
        "half": torch.tensor([0.1], dtype=torch.bfloat16),
        "scalar": torch.tensor(3.0),
        "empty": torch.empty(0, 3),
        "weight": torch.nn.Parameter(torch.ones(2, 2)),
    }


def raw(tensor):
    return (
        tensor.dtype,
        tuple(tensor.shape),
        bytes(tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy()),
    )


def same(left, right):
    return left.keys() == right.keys() and all(
        raw(left[name]) == raw(right[name]) for name in left
    )


@pytest.fixture
def model(tmp_path):
    write_model(tmp_path / "model", make_tensors(), CONTENT)
    return tmp_path / "model"


@pytest.fixture
def checkpoint(tmp_path):
    write_checkpoint(tmp_path / "checkpoint", make_tensors(), CONTENT)
    return tmp_path / "checkpoint"


# --- what comes back


@both
@pytest.mark.parametrize("as_path", [str, Path])
def test_tensors_and_content_come_back_bit_by_bit(tmp_path, kind, as_path):
    WRITE[kind](as_path(tmp_path / "x"), make_tensors(), CONTENT)
    tensors, content = READ[kind](as_path(tmp_path / "x"))
    assert same(tensors, make_tensors())
    assert repr(content) == repr(CONTENT)
    assert not any(tensor.requires_grad for tensor in tensors.values())


@both
def test_no_tensors_and_no_content_come_back(tmp_path, kind):
    WRITE[kind](tmp_path / "x", {}, {})
    assert READ[kind](tmp_path / "x") == ({}, {})


@both
def test_writing_twice_gives_the_same_bytes(tmp_path, kind):
    for name in ("one", "two"):
        WRITE[kind](tmp_path / name, make_tensors(), CONTENT)
    one, two = (
        [file.read_bytes() for file in sorted((tmp_path / name).glob("*"))]
        or [(tmp_path / name).read_bytes()]
        for name in ("one", "two")
    )
    assert one == two


@both
def test_what_was_there_is_replaced_and_nothing_is_left_over(tmp_path, kind):
    WRITE[kind](tmp_path / "x", make_tensors(), {"number": 1})
    WRITE[kind](tmp_path / "x", {}, {"number": 2})
    assert READ[kind](tmp_path / "x") == ({}, {"number": 2})
    assert [entry.name for entry in tmp_path.iterdir()] == ["x"]


@both
def test_a_link_is_followed_to_what_it_stands_for(tmp_path, kind):
    WRITE[kind](tmp_path / "x", {}, {"number": 1})
    (tmp_path / "latest").symlink_to(tmp_path / "x")
    WRITE[kind](tmp_path / "latest", {}, {"number": 2})
    assert (tmp_path / "latest").is_symlink()
    assert READ[kind](tmp_path / "x") == ({}, {"number": 2})


def test_a_model_is_two_files(model):
    names = sorted(file.name for file in model.iterdir())
    assert names == ["model.json", "model.safetensors"]
    record = json.loads((model / "model.json").read_text())
    assert (record["format"], record["library"]) == (FORMAT, "lacunet")
    data = (model / "model.safetensors").read_bytes()
    assert record["sha256"]["tensors"] == hashlib.sha256(data).hexdigest()


def test_a_model_is_replaced_by_force_only(model):
    for write in (check_place, functools.partial(write_model, tensors={}, content={})):
        with pytest.raises(LacunetError, match="replace it with force=True"):
            write(model)
        assert same(read_model(model)[0], make_tensors())
        write(model, force=True)
    assert read_model(model) == ({}, {})


def test_a_model_can_go_into_an_empty_folder(tmp_path):
    (tmp_path / "x").mkdir()
    write_model(tmp_path / "x", {}, {})
    assert read_model(tmp_path / "x") == ({}, {})


def test_other_files_beside_a_model_do_not_disturb_reading(model):
    (model / "README").write_text("about this model")
    assert same(read_model(model)[0], make_tensors())


def test_tuples_come_back_as_lists(tmp_path):
    write_model(tmp_path / "x", {}, {"sizes": (1, 2)})
    assert read_model(tmp_path / "x")[1] == {"sizes": [1, 2]}


# --- crashes


@both
def test_a_failure_while_writing_leaves_the_former_one(tmp_path, kind, monkeypatch):
    WRITE[kind](tmp_path / "x", {}, {"number": 1})

    def fail(descriptor):
        msg = "the disk is full"
        raise OSError(msg)

    monkeypatch.setattr(_saving.os, "fsync", fail)
    with pytest.raises(LacunetError, match="could not write.*the disk is full"):
        WRITE[kind](tmp_path / "x", make_tensors(), {"number": 2})
    assert READ[kind](tmp_path / "x") == ({}, {"number": 1})


def test_a_failure_of_the_last_step_brings_the_former_model_back(model, monkeypatch):
    rename = Path.rename

    def fail(self, target):
        if ".lacunet-" in self.name and not self.name.endswith(".old"):
            msg = "no"
            raise OSError(msg)
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(LacunetError, match="could not write a model"):
        write_model(model, {}, {}, force=True)
    assert same(read_model(model)[0], make_tensors())
    assert [entry.name for entry in model.parent.iterdir()] == ["model"]


def test_half_a_temporary_checkpoint_is_overwritten(checkpoint):
    half = checkpoint.with_name(f".{checkpoint.name}.tmp")
    half.write_bytes(checkpoint.read_bytes()[:50])
    assert same(read_checkpoint(checkpoint)[0], make_tensors())
    write_checkpoint(checkpoint, {}, {"number": 2})
    assert read_checkpoint(checkpoint) == ({}, {"number": 2})
    assert not half.exists()


_WRITE_FOR_EVER = """
import itertools, sys, torch
from lacunet.estimators._saving import CheckpointFile, write_model
file = CheckpointFile(sys.argv[2]) if sys.argv[1] == "checkpoint" else None
for number in itertools.count():
    tensors, content = {"x": torch.full((1000,), float(number))}, {"number": number}
    if file is None:
        write_model(sys.argv[2], tensors, content, force=True)
    else:
        file.write(tensors, content)
    print(number, flush=True)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.slow
@both
def test_a_killed_writer_leaves_a_whole_one(tmp_path, kind):
    command = [sys.executable, "-c", _WRITE_FOR_EVER, kind, str(tmp_path / "x")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for _ in range(20):
            process.stdout.readline()
        process.kill()
    place = tmp_path / "x"
    if not place.exists():  # killed between the two renames of a model
        (place,) = tmp_path.glob(".x.*.old")
    tensors, content = READ[kind](place)
    assert content["number"] >= 19
    assert (tensors["x"] == content["number"]).all()
    for _ in range(2):  # a former model is removed when there is another
        WRITE[kind](tmp_path / "x", {}, {})
    assert [entry.name for entry in tmp_path.iterdir()] == ["x"]


# --- refusals


def test_damage_anywhere_is_noticed(tmp_path):
    """A changed or cut file is refused, or read the same (a blank for a blank)."""
    write_model(tmp_path / "x", {"a": torch.arange(4.0)}, {"b": [1.5, "c"]})
    files = sorted((tmp_path / "x").glob("*"))
    generator = random.Random(0)
    refused = 0
    for step in range(300):
        file = files[step % len(files)]
        data = file.read_bytes()
        file.write_bytes(_damage(data, generator))
        try:
            tensors, content = read_model(tmp_path / "x")
            assert torch.equal(tensors["a"], torch.arange(4.0))
            assert content == {"b": [1.5, "c"]}
        except LacunetError:
            refused += 1
        file.write_bytes(data)
    assert refused > 250


def _damage(data, generator):
    place = generator.randrange(len(data))
    if generator.random() < 0.3:
        return data[:place]
    changed = bytearray(data)
    changed[place] ^= generator.randrange(1, 256)
    return bytes(changed)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "no record in JSON"),
        ("[1]", "no record in JSON"),
        ("[" * 100_000, "no record in JSON"),
        ('{"library": NaN}', "no record in JSON"),
        ("\udcff", "no record in JSON"),
        ("{}", "of library None, but expected one that lacunet saved"),
        ('{"library": "lacunet", "format": 99}', f"99, but .* {FORMAT}: a newer lac"),
        ('{"library": "lacunet", "format": true}', "does not match its sha256"),
        ('{"library": "lacunet", "format": 1}', "does not match its sha256"),
    ],
)
def test_records_are_refused_with_the_reason(model, text, match):
    (model / "model.json").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(LacunetError, match=match):
        read_model(model)


@pytest.mark.parametrize("key", ["content", "sha256", "format", "extra"])
def test_an_edited_record_is_refused(model, key):
    record = json.loads((model / "model.json").read_text())
    record[key] = {"class": "Other"}
    (model / "model.json").write_text(json.dumps(record))
    with pytest.raises(LacunetError, match="Got a model.json"):
        read_model(model)


def test_tensors_of_another_model_are_refused(model, tmp_path):
    write_model(tmp_path / "other", {"x": torch.zeros(3)}, CONTENT)
    (tmp_path / "other/model.safetensors").replace(model / "model.safetensors")
    with pytest.raises(LacunetError, match="does not match the sha256"):
        read_model(model)


@pytest.mark.parametrize("name", ["model.json", "model.safetensors"])
def test_a_missing_file_is_refused(model, name):
    (model / name).unlink()
    with pytest.raises(LacunetError, match=f"could not read .*{name}") as caught:
        read_model(model)
    assert isinstance(caught.value.__cause__, FileNotFoundError)


@pytest.mark.parametrize("name", ["model.json", "model.safetensors"])
def test_files_may_be_links_but_not_folders(model, tmp_path, name):
    (model / name).rename(tmp_path / "elsewhere")
    (model / name).symlink_to(tmp_path / "elsewhere")
    assert same(read_model(model)[0], make_tensors())
    (model / name).unlink()
    (model / name).mkdir()
    with pytest.raises(LacunetError, match="could not read a model"):
        read_model(model)


@pytest.mark.parametrize("path", ["nothing", "file", "a\0b", "loop", 3])
def test_paths_without_a_model_are_refused(tmp_path, path):
    (tmp_path / "file").write_text("text")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    place = str(tmp_path / path) if isinstance(path, str) else path
    with pytest.raises(LacunetError, match=r"^Got "):
        read_model(place)


@pytest.mark.parametrize("path", ["missing/x", "file/x", "a\0b", "loop", 3])
def test_paths_that_cannot_be_written_are_refused(tmp_path, path):
    (tmp_path / "file").write_text("text")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    place = str(tmp_path / path) if isinstance(path, str) else path
    with pytest.raises(LacunetError, match=r"^Got path="):
        write_model(place, {}, {})


def test_a_folder_of_the_user_is_never_replaced(tmp_path, model):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.tex").write_text("years of work")
    (model / "notes.txt").write_text("mine too")
    for place in (tmp_path / "mine", model, tmp_path):
        with pytest.raises(LacunetError, match="or a model of lacunet to replace"):
            write_model(place, {}, {}, force=True)
    assert (tmp_path / "mine/thesis.tex").read_text() == "years of work"
    assert (model / "notes.txt").exists()


def test_a_model_of_another_library_is_never_replaced(model):
    (model / "model.json").write_text('{"library": "other"}')
    with pytest.raises(LacunetError, match="or a model of lacunet to replace"):
        write_model(model, {}, {})
    (model / "model.json").unlink()
    (model / "model.safetensors").unlink()
    model.rmdir()
    model.write_text("a file")
    with pytest.raises(LacunetError, match="could not write a model there"):
        write_model(model, {}, {})


def test_a_checkpoint_is_no_model_and_a_model_no_checkpoint(model, checkpoint):
    with pytest.raises(
        LacunetError, match="could not read a model there: a folder with"
    ):
        read_model(checkpoint)
    with pytest.raises(LacunetError, match="or a checkpoint of lacunet"):
        CheckpointFile(model / "model.safetensors")


@pytest.mark.parametrize(
    "content", [{"a": float("nan")}, {"a": object()}, {"a": {1, 2}}]
)
def test_content_that_is_no_json_is_refused(tmp_path, content):
    with pytest.raises(LacunetError, match="content that is not JSON"):
        write_model(tmp_path / "x", {}, content)
    assert not list(tmp_path.iterdir())


def test_texts_stand_beside_a_model_and_are_replaced_with_it(tmp_path):
    write_model(tmp_path / "m", {}, {"a": 1}, {"card.md": "für A", "table.json": "{}"})
    assert (tmp_path / "m/card.md").read_text("utf-8") == "für A"
    write_model(tmp_path / "m", {}, {"a": 2}, {"card.md": "for B"}, force=True)
    assert sorted(path.name for path in (tmp_path / "m").iterdir()) == [
        "card.md",
        "model.json",
        "model.safetensors",
    ]
    assert read_model(tmp_path / "m")[1]["a"] == 2
    write_model(tmp_path / "m", {}, {}, force=True)
    assert len(list((tmp_path / "m").iterdir())) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["m"]
