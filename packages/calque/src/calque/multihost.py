"""The functions of `calque_xla_backend.multihost`: values for all processes of a program."""

from calque_xla_backend.multihost import assert_equal, broadcast_one_to_all, process_allgather, sync_global_devices

__all__ = ["assert_equal", "broadcast_one_to_all", "process_allgather", "sync_global_devices"]
