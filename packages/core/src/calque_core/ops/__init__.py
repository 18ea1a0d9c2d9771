"""The primitives, one module per family: type rule, NumPy evaluation and public function side by side.

`calque_core.lax` lists the public functions.  The rules of a family for each transformation are in
`rules/<room>/<family>.py` of the package that owns the transformation, in the same order.
"""
