from pathlib import Path

import calque_signal


def test_the_version_is_that_of_the_release():
    assert calque_signal.__version__ == "0.1.0"
    assert (Path(calque_signal.__file__).parent / "py.typed").exists()
