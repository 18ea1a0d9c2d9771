"""The pictures of the examples: one style, `gallery.mplstyle`, and one folder, `examples/output`.

A program imports `plt` and `save` from here.  The documentation shows copies of the pictures, which this command makes
anew: `python examples/gallery.py` runs the program of each picture in `docs/gallery`; for a picture that is not there
yet, name the program: `python examples/gallery.py kalman_filter`.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
from PIL import Image

mpl.use("Agg")
from matplotlib import pyplot as plt

__all__ = ["plt", "save"]

EXAMPLES = Path(__file__).parent
DOCS = EXAMPLES.parent / "docs" / "gallery"
COLOURS = 64

plt.style.use(EXAMPLES / "gallery.mplstyle")


def save(figure: plt.Figure, program: str) -> None:
    """Write the picture of the program at the path `program`, its `__file__`, and print where it is."""
    path = EXAMPLES / "output" / f"{Path(program).stem}.png"
    path.parent.mkdir(exist_ok=True)
    pixels = io.BytesIO()
    figure.savefig(pixels)
    # A palette instead of 24 bits a pixel: a third of the bytes, and the eye sees no difference.
    Image.open(pixels).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"drawn: {path.relative_to(EXAMPLES.parent)}")


def main(programs: list[str]) -> None:
    """Run the programs and copy their pictures into the documentation."""
    for program in programs or sorted(picture.stem for picture in DOCS.glob("*.png")):
        subprocess.run([sys.executable, EXAMPLES / f"{program}.py"], check=True)  # noqa: S603, our own files
        shutil.copy(EXAMPLES / "output" / f"{program}.png", DOCS)


if __name__ == "__main__":
    main(sys.argv[1:])
