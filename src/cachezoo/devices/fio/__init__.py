"""Real response times: a trace replayed by fio on a device, a file, or an emulated disk."""
