"""Rows of images as one picture each."""

import base64
import io

import numpy as np

from lacunet.report._drawing import MISSING

GAP = 2  # pixels between images, clear
CLEAR = (0, 0, 0, 0)


def to_strip(images: np.ndarray) -> str:
    """Return images side by side, as the address of a PNG that holds its bytes.

    Parameters
    ----------
    images : ndarray of shape (images, pixels)
        Squares with intensities from 0, which is white, to 1; NaN is shown in colour.

    Returns
    -------
    str
        The same for the same images.

    Examples
    --------
    >>> import numpy as np

    from lacunet.report._drawing import MISSING
    >>> from reproduction.report._images import to_strip
    >>> to_strip(np.zeros((2, 4)))[:22]
    'data:image/png;base64,'
    """
    from matplotlib.image import imsave
    from PIL.PngImagePlugin import PngInfo  # comes with matplotlib

    side = round(images.shape[1] ** 0.5)
    squares = _paint(images.reshape(-1, side, side))
    gap = np.broadcast_to(np.array(CLEAR, np.uint8), (side, GAP, 4))
    pieces = [piece for square in squares for piece in (square, gap)][:-1]
    stream = io.BytesIO()
    imsave(
        stream,
        np.concatenate(pieces, axis=1),
        format="png",
        pil_kwargs={"optimize": True, "pnginfo": PngInfo()},  # no word on who made it
    )
    return f"data:image/png;base64,{base64.b64encode(stream.getvalue()).decode()}"


def _paint(squares: np.ndarray) -> np.ndarray:
    """Return colours and opacity of each pixel, as bytes."""
    missing = np.isnan(squares)
    grey = 255 * (1 - np.clip(np.where(missing, 0, squares), 0, 1))
    colours = np.repeat(grey.round().astype(np.uint8)[..., None], 3, axis=-1)
    colours[missing] = MISSING
    opaque = np.full((*squares.shape, 1), 255, np.uint8)
    return np.concatenate([colours, opaque], axis=-1)
