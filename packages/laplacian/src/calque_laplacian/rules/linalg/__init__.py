"""The rules of `calque_linalg`, in modules of the paths that its operations have."""
