"""What `cachezoo flash` prints: Baleen's flash cache for one trace, policies and bundles at write rates."""
