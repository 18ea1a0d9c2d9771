"""The memory of arrays: arrays that a trace captures, results that share no memory."""
