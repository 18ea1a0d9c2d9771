"""Named axes and meshes: collectives, exchanges, programs divided over devices."""
