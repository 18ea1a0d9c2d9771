"""The primitives, one module per family: type rule, NumPy evaluation and public function side by side."""
