"""Caches of objects: traces whose rows name objects by keys, with sizes in bytes."""
