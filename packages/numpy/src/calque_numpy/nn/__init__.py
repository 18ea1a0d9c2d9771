"""Functions of neural networks, by the names of `jax.nn`: activations, normalisations, attention.

One idea: each is a formula in core's operations whose values and derivatives are right at zero, at ties and at
infinity, because a mask chooses the operand of each branch before the branch is computed.

Read next: `piecewise.py`, `activations.py`, `normalizers.py`, `attention.py`, `initializers.py`.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING  # noqa: TID251  it breaks no cycle: the names are imported late

from calque_core.extend import late_names as _late_names

# fmt: off
# isort: off
if _TYPE_CHECKING:
    from calque_numpy.nn import initializers
    from calque_numpy.nn.activations import (
        celu, elu, gelu, glu, identity, log1mexp, log_sigmoid, mish, selu, sigmoid, silu, soft_sign, softplus,
        squareplus, swish, tanh,
    )
    from calque_numpy.nn.attention import dot_product_attention
    from calque_numpy.nn.normalizers import log_softmax, logmeanexp, logsumexp, one_hot, softmax, standardize
    from calque_numpy.nn.piecewise import (
        hard_sigmoid, hard_silu, hard_swish, hard_tanh, leaky_relu, relu, relu6, sparse_plus, sparse_sigmoid,
    )
# isort: on
# fmt: on

# Each module is imported when a program first uses one of its names.
_LATE = {
    "calque_numpy.nn": "initializers",
    "calque_numpy.nn.activations": (
        "celu, elu, gelu, glu, identity, log1mexp, log_sigmoid, mish, selu, sigmoid, silu, soft_sign, softplus, "
        "squareplus, swish, tanh"
    ),
    "calque_numpy.nn.attention": "dot_product_attention",
    "calque_numpy.nn.normalizers": "log_softmax, logmeanexp, logsumexp, one_hot, softmax, standardize",
    "calque_numpy.nn.piecewise": (
        "hard_sigmoid, hard_silu, hard_swish, hard_tanh, leaky_relu, relu, relu6, sparse_plus, sparse_sigmoid"
    ),
}

__all__ = [
    # piecewise polynomials
    "relu", "relu6", "leaky_relu", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh", "sparse_plus",
    "sparse_sigmoid",
    # smooth functions
    "identity", "sigmoid", "tanh", "softplus", "log_sigmoid", "silu", "swish", "mish", "gelu", "squareplus",
    "soft_sign", "elu", "celu", "selu", "glu", "log1mexp",
    # over an axis
    "softmax", "log_softmax", "logsumexp", "logmeanexp", "standardize", "one_hot",
    # attention
    "dot_product_attention",
    # parameters
    "initializers",
]  # fmt: skip

if not _TYPE_CHECKING:  # a type checker that knew of it would accept every name
    __getattr__, __dir__ = _late_names(__name__, _LATE)
