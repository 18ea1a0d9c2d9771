"""Functions of neural networks, by the names of `jax.nn`: activations, normalisations, attention.

One idea: each is a formula in core's operations whose values and derivatives are right at zero, at ties and at
infinity, because a mask chooses the operand of each branch before the branch is computed.

Read next: `piecewise.py`, `activations.py`, `normalizers.py`, `attention.py`, `initializers.py`.
"""

from calque_core.extend import late_chapters as _late_chapters

# Each module is imported when a program first uses one of its names.
_CHAPTERS = {
    "piecewise polynomials": {
        "calque_numpy.nn.piecewise": (
            "relu, relu6, leaky_relu, hard_sigmoid, hard_silu, hard_swish, hard_tanh, sparse_plus, sparse_sigmoid"
        ),
    },
    "smooth functions": {
        "calque_numpy.nn.activations": (
            "identity, sigmoid, tanh, softplus, log_sigmoid, silu, swish, mish, gelu, squareplus, soft_sign, elu, "
            "celu, selu, glu, log1mexp"
        ),
    },
    "over an axis": {
        "calque_numpy.nn.normalizers": "softmax, log_softmax, logsumexp, logmeanexp, standardize, one_hot",
    },
    "attention": {"calque_numpy.nn.attention": "dot_product_attention"},
    "parameters": {"calque_numpy.nn": "initializers"},
}

__getattr__, __dir__, __all__ = _late_chapters(__name__, _CHAPTERS)
