"""Who owns an array's memory: arrays that a trace captures, results that share none."""
