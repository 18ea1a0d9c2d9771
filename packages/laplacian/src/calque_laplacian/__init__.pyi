# `python tests/docs/public_api.py` writes this file from the names in the module.

from calque_laplacian.forward import (
    laplacian as laplacian, forward_laplacian as forward_laplacian, ForwardLaplacian as ForwardLaplacian,
)
from calque_laplacian.triple import Triple as Triple, InnerProduct as InnerProduct, defelementwise as defelementwise
from calque_laplacian.linear import deflinear as deflinear
from calque_laplacian.laplacian_trace import LaplacianTrace as LaplacianTrace

__version__: str

__all__ = [
    "laplacian", "forward_laplacian", "ForwardLaplacian", "Triple", "InnerProduct", "defelementwise", "deflinear",
    "LaplacianTrace",
]
