"""Elements read and written at positions, and sorted."""
