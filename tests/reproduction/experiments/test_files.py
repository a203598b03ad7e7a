import json

import numpy as np
import pytest
from reproduction.experiments._files import (
    path_of_images,
    read_arrays,
    update_figure,
    write_arrays,
)
from reproduction.experiments._jobs import Job


def test_figures_of_other_protocols_are_kept(tmp_path):
    path = tmp_path / "new" / "figure.json"
    update_figure(path, "quick", {"x": [1.0]})
    update_figure(path, "paper", {"x": [2.0]})
    update_figure(path, "quick", {"x": [3.0]})
    assert json.loads(path.read_text()) == {
        "quick": {"x": [3.0]},
        "paper": {"x": [2.0]},
    }


def test_images_of_other_protocols_are_kept(tmp_path):
    path = tmp_path / "figure.npz"
    update_figure(path, "quick", {"mean": np.ones(2), "gone": np.ones(1)})
    update_figure(path, "quick-digits", {"mean": np.zeros(3)})
    update_figure(path, "quick", {"mean": np.full(2, 5.0)})
    found = read_arrays(path)
    assert {name: array.tolist() for name, array in found.items()} == {
        "quick-digits/mean": [0, 0, 0],
        "quick/mean": [5, 5],
    }


def test_a_figure_with_what_json_has_not_is_refused(tmp_path):
    path = tmp_path / "figure.json"
    with pytest.raises(ValueError, match="not JSON compliant"):
        update_figure(path, "quick", {"x": float("nan")})
    assert not path.exists()


def test_nothing_half_written_stays(tmp_path, monkeypatch):
    path = tmp_path / "images.npz"
    write_arrays(path, {"images": np.ones(2)})

    def fail(stream, **arrays):
        stream.write(b"half")
        msg = "disk full"
        raise OSError(msg)

    monkeypatch.setattr(np, "savez_compressed", fail)
    with pytest.raises(OSError, match="disk full"):
        write_arrays(path, {"images": np.zeros(2)})
    assert read_arrays(path)["images"].tolist() == [1, 1]
    assert [file.name for file in tmp_path.iterdir()] == ["images.npz"]


def test_a_file_that_is_not_there_has_no_arrays(tmp_path):
    assert read_arrays(tmp_path / "no.npz") == {}


def test_images_of_different_jobs_have_different_files(tmp_path):
    jobs = [
        Job("table-1", dataset, None, method, 0, seed, protocol)
        for dataset in ("mnist", "mnist-7")
        for method in ("mean", "mean+indicator")
        for seed in (0, 1)
        for protocol in ("paper", "quick")
    ]
    paths = {path_of_images(tmp_path, job) for job in jobs}
    assert len(paths) == len(jobs)
    assert {path.parent for path in paths} == {tmp_path / "table-1-images"}
