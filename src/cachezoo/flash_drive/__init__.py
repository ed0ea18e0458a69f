"""What writes do to a drive of flash: a trace's page writes, the drive that they fill, and its write amplification."""
