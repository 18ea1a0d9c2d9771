"""The transformations: jvp, linearize, vjp, grad, checkpoint, and their variants."""
