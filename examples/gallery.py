"""The pictures of the examples: one style, `gallery.mplstyle`, and one folder, `examples/output`.

A program imports `plt` and `save` from here.  Read next: `run.py`, which runs the programs for the documentation.
"""

from __future__ import annotations

import io
from pathlib import Path

import matplotlib as mpl
from PIL import Image

mpl.use("Agg")
from matplotlib import pyplot as plt

__all__ = ["plt", "save"]

EXAMPLES = Path(__file__).parent
COLOURS, LIMIT = (256, 128, 64, 32, 16), 40 * 1024  # the most colours of which the file has at most LIMIT bytes

plt.style.use(EXAMPLES / "gallery.mplstyle")


def save(figure: plt.Figure, program: str) -> None:
    """Write the picture of the program at the path `program`, its `__file__`, and print where it is."""
    path = EXAMPLES / "output" / f"{Path(program).stem}.png"
    path.parent.mkdir(exist_ok=True)
    pixels = io.BytesIO()
    figure.savefig(pixels)
    image = Image.open(pixels).convert("RGB")
    for colours in COLOURS:  # with the fonts of another system, none may fit: then the last is good enough
        png = encode(image, colours)
        if len(png) <= LIMIT:
            break
    path.write_bytes(png)
    print(f"drawn: {path.relative_to(EXAMPLES.parent)}")


def encode(image: Image.Image, colours: int) -> bytes:
    """Return the image as PNG with a palette: a fraction of the bytes of 24 bits a pixel."""
    png = io.BytesIO()
    # Means of the pixels nearest to each entry make the palette; else a small patch of a strong colour would fade.
    image.quantize(colours, kmeans=2, dither=Image.Dither.NONE).save(png, "PNG", optimize=True)
    return png.getvalue()
