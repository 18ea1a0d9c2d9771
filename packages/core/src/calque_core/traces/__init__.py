"""Who processes an operation: traces, and the tracers that they hand out."""
