# `python tests/docs/public_api.py` writes this file from the names in the module.

from calque_numpy.nn.piecewise import (
    relu as relu, relu6 as relu6, leaky_relu as leaky_relu, hard_sigmoid as hard_sigmoid, hard_silu as hard_silu,
    hard_swish as hard_swish, hard_tanh as hard_tanh, sparse_plus as sparse_plus, sparse_sigmoid as sparse_sigmoid,
)
from calque_numpy.nn.activations import (
    identity as identity, sigmoid as sigmoid, tanh as tanh, softplus as softplus, log_sigmoid as log_sigmoid,
    silu as silu, swish as swish, mish as mish, gelu as gelu, squareplus as squareplus, soft_sign as soft_sign,
    elu as elu, celu as celu, selu as selu, glu as glu, log1mexp as log1mexp,
)
from calque_numpy.nn.normalizers import (
    softmax as softmax, log_softmax as log_softmax, logsumexp as logsumexp, logmeanexp as logmeanexp,
    standardize as standardize, one_hot as one_hot,
)
from calque_numpy.nn.attention import dot_product_attention as dot_product_attention
from calque_numpy.nn import initializers as initializers

__all__ = [
    "relu", "relu6", "leaky_relu", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh", "sparse_plus",
    "sparse_sigmoid", "identity", "sigmoid", "tanh", "softplus", "log_sigmoid", "silu", "swish", "mish", "gelu",
    "squareplus", "soft_sign", "elu", "celu", "selu", "glu", "log1mexp", "softmax", "log_softmax", "logsumexp",
    "logmeanexp", "standardize", "one_hot", "dot_product_attention", "initializers",
]
