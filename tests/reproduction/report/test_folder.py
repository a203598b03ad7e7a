import json

import numpy as np
import pytest
from reproduction.report._folder import read_folder

from lacunet.exceptions import LacunetError


def test_figures_are_told_by_protocol_and_data(tmp_path):
    np.savez(
        tmp_path / "figure-2.npz",
        **{
            f"{label}/original": np.zeros((1, 4)) for label in ("quick-digits", "paper")
        },
    )
    drawn = read_folder(tmp_path).figures["figure-2"]
    assert [(each.protocol, each.data) for each in drawn] == [
        ("paper", "paper"),
        ("quick", "stand-ins"),
    ]
    assert list(drawn[0].content) == ["original"]


def test_figures_with_data_of_their_own_have_no_stand_ins(tmp_path):
    content = {"quick-digits": {"x": [1]}, "quick": {"x": [2]}, "paper": {"x": [3]}}
    (tmp_path / "figure-gamma.json").write_text(json.dumps(content), "utf-8")
    drawn = read_folder(tmp_path).figures["figure-gamma"]
    assert [(each.protocol, each.data, each.content["x"]) for each in drawn] == [
        ("paper", "paper", [3]),
        ("quick", "paper", [2]),
    ]


@pytest.mark.parametrize("text", ["{", "[]", '{"quick": 1}'])
def test_damaged_data_of_a_figure_are_named(tmp_path, text):
    (tmp_path / "figure-gamma.json").write_text(text, "utf-8")
    with pytest.raises(LacunetError, match=r"figure-gamma.json that can't be read"):
        read_folder(tmp_path)


def test_damaged_images_are_named(tmp_path):
    (tmp_path / "figure-2.npz").write_bytes(b"no archive")
    with pytest.raises(LacunetError, match="lacunet reproduce figure-2 again"):
        read_folder(tmp_path)
