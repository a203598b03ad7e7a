import base64
import io

import numpy as np
from PIL import Image
from reproduction.report._images import to_strip


def read(address):
    start = "data:image/png;base64,"
    assert address.startswith(start)
    stream = io.BytesIO(base64.b64decode(address.removeprefix(start)))
    return np.asarray(Image.open(stream))


def test_images_stand_side_by_side_with_a_clear_gap():
    pixels = read(to_strip(np.array([[0, 1, 0.5, 0], [1, 1, 1, 1]])))
    assert pixels.shape == (2, 6, 4)
    assert pixels[..., 0].tolist() == [[255, 0, 0, 0, 0, 0], [128, 255, 0, 0, 0, 0]]
    assert (pixels[:, 2:4, 3] == 0).all()
    assert (pixels[:, [0, 1, 4, 5], 3] == 255).all()


def test_what_is_missing_has_a_colour():
    pixels = read(to_strip(np.array([[np.nan, 0.0, 0.5, 1.0]])))
    red, green, blue, _ = pixels[0, 0].tolist()
    assert red != green != blue
    assert len(set(pixels[0, 1].tolist())) == 1


def test_values_out_of_range_are_the_nearest_that_can_be_shown():
    pixels = read(to_strip(np.array([[-1.0, 2.0, 0.0, 1.0]])))
    assert pixels[..., 0].tolist() == [[255, 0], [255, 0]]
