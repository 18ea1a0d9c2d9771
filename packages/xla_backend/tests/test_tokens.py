from calque_core import Effect
from calque_xla_backend.modules.tokens import has_ordered


def test_only_an_effect_that_says_so_has_an_order():
    assert has_ordered(["noise", Effect("log", ordered=True)])
    assert not has_ordered(["noise", Effect("log")])
    assert not has_ordered([])
