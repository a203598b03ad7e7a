"""Patches that are lost from images."""

import math
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from lacunet.missingness._cells import as_array, own_stream


def drop_patch(
    images: Any,
    size: int | tuple[int, int],
    *,
    image_shape: Sequence[int] | None = None,
    return_mask: bool = False,
    random_state: Any = None,
) -> Any:
    """Return a copy of images, each of which has lost a patch.

    The patch is a rectangle at a place of its own for each image, drawn evenly from
    all places where it is wholly inside. The paper drops 13 x 13 of 28 x 28 pixels: one
    of 16 x 16 places.

    Parameters
    ----------
    images : array-like
        Images of shape (n_images, height, width), with channels last
        (n_images, height, width, channels), or as flat rows
        (n_images, height * width * channels). They are left as they are.
    size : int or tuple of int
        The side of a square, or height and width.
    image_shape : sequence of int, default=None
        Height, width and perhaps channels of flat rows, which are squares without
        channels if it is not given.
    return_mask : bool, default=False
        Return also which values were lost.
    random_state : int, RandomState instance or None, default=None
        Seed of the places.

    Returns
    -------
    images_missing : ndarray of the shape of images
        A copy, NaN in the patches, in all channels. Floats keep their precision; other
        numbers become float64, so convert small integers to float32 first to save
        memory.
    lost : ndarray of bool of the shape of images
        If ``return_mask``: True where a value was taken away, and False where there was
        none before.

    Examples
    --------
    >>> import numpy as np
    >>> from lacunet.missingness import drop_patch
    >>> images = np.arange(9).reshape(1, 3, 3)
    >>> drop_patch(images, 2, random_state=0)
    array([[[ 0., nan, nan],
            [ 3., nan, nan],
            [ 6.,  7.,  8.]]])
    """
    pixels = _as_floats(images)
    height, width, *_ = shape = _find_shape(pixels, image_shape)
    patch = _check_size(size, height, width)
    generator = own_stream(random_state)
    rows = _draw_span(len(pixels), height, patch[0], generator)
    columns = _draw_span(len(pixels), width, patch[1], generator)
    inside = rows[:, :, None] & columns[:, None, :]  # (images, height, width)
    if len(shape) == 3:
        inside = np.repeat(inside[..., None], shape[2], axis=3)
    lost = inside.reshape(pixels.shape) & ~np.isnan(pixels)
    pixels[lost] = np.nan
    return (pixels, lost) if return_mask else pixels


def _draw_span(
    n_images: int, length: int, size: int, random_state: np.random.RandomState
) -> np.ndarray:
    """Draw ``size`` neighbours out of ``length``, for each image."""
    start = random_state.randint(length - size + 1, size=(n_images, 1))
    place = np.arange(length)
    span: np.ndarray = (place >= start) & (place < start + size)
    return span


def _as_floats(images: Any) -> np.ndarray:
    array = as_array(images)
    if array.dtype.kind not in "fiub":
        msg = (
            f"Got images of dtype {array.dtype}, but expected numbers. Convert them "
            f"with images.astype(float)."
        )
        raise TypeError(msg)
    # A copy in any case.
    return array.astype(array.dtype if array.dtype.kind == "f" else np.float64)


def _find_shape(
    pixels: np.ndarray, image_shape: Sequence[int] | None
) -> tuple[int, ...]:
    """Return height, width and perhaps channels of an image."""
    if pixels.ndim not in (2, 3, 4):
        msg = (
            f"Got images of shape {pixels.shape}, but expected (n_images, height, "
            f"width), perhaps with channels, or flat rows (n_images, pixels)."
        )
        raise ValueError(msg)
    own = pixels.shape[1:]
    if image_shape is None:
        shape = _square(own[0]) if pixels.ndim == 2 else own
    else:
        shape = tuple(image_shape)
        _check_shape(shape, own)
    return shape


def _square(n_pixels: int) -> tuple[int, int]:
    side = math.isqrt(n_pixels)
    if side**2 != n_pixels:
        msg = (
            f"Got flat images of {n_pixels} pixels, which are no squares, but no "
            f"image_shape. Give height and width, and channels if there are any."
        )
        raise ValueError(msg)
    return side, side


def _check_shape(shape: tuple[int, ...], own: tuple[int, ...]) -> None:
    same_pixels = math.prod(shape) == own[0] if len(own) == 1 else shape == own
    if len(shape) not in (2, 3) or not same_pixels:
        msg = (
            f"Got image_shape={shape}, but images of shape {own} each. Expected height "
            f"and width, and channels if there are any, of the images as they are."
        )
        raise ValueError(msg)


def _check_size(size: Any, height: int, width: int) -> tuple[int, int]:
    sides: Any = (size, size) if isinstance(size, numbers.Integral) else size
    pair = isinstance(sides, Sequence) and len(sides) == 2
    if not pair or not all(map(_is_whole, sides)):
        msg = f"Got size={size!r}, but expected an integer, or height and width."
        raise TypeError(msg)
    if not (1 <= sides[0] <= height and 1 <= sides[1] <= width):
        msg = (
            f"Got size={size!r}, but expected a patch of at least 1 x 1 and at most "
            f"{height} x {width} pixels, the size of the images."
        )
        raise ValueError(msg)
    return int(sides[0]), int(sides[1])


def _is_whole(value: object) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)
