"""jaxlib's client: devices, buffers, arrays, flags, interrupts."""
