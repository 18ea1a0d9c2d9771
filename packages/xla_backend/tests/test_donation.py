import pytest

from calque_xla_backend.calls.donation import DonatedArguments, donated_arguments


def test_donated_positions_are_checked():
    assert donated_arguments(lambda x, y, /: x, (0, -1), None) == DonatedArguments((0, 1))
    assert donated_arguments(lambda x, y: x, (0, -1), None) == DonatedArguments((0, 1), ("x", "y"))
    assert donated_arguments(lambda x, y: x, None, "y") == DonatedArguments((1,), ("y",))
    assert donated_arguments(lambda x: x, None, None) == DonatedArguments()
    assert donated_arguments(max, -1, None) == DonatedArguments((-1,))
    with pytest.raises(
        ValueError,
        match=r"donate_argnums=2, but the function has 1 positional argument\. Count from 0, or .* donate_argnames\.$",
    ):
        donated_arguments(lambda x: x, 2, None)
