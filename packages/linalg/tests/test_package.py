from pathlib import Path

import calque_linalg


def test_the_version_is_that_of_the_release():
    assert calque_linalg.__version__ == "0.1.0"
    assert (Path(calque_linalg.__file__).parent / "py.typed").exists()
