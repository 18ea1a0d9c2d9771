from pathlib import Path

import calque_bounds


def test_the_version_is_that_of_the_release():
    assert calque_bounds.__version__ == "0.1.0"
    assert (Path(calque_bounds.__file__).parent / "py.typed").exists()
