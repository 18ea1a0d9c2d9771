from pathlib import Path

import calque_laplacian


def test_the_version_is_that_of_the_release():
    assert calque_laplacian.__version__ == "0.1.0"
    assert (Path(calque_laplacian.__file__).parent / "py.typed").exists()
