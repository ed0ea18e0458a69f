"""What placements of writes do to a drive of flash, for any trace: `cachezoo recommend --only wear`."""
