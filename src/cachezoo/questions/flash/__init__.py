"""What `cachezoo recommend --only flash` prints: Baleen's flash cache, policies and bundles at write rates."""
