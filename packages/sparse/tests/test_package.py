from pathlib import Path

import calque_sparse


def test_the_version_is_that_of_the_release():
    assert calque_sparse.__version__ == "0.1.0"
    assert (Path(calque_sparse.__file__).parent / "py.typed").exists()
