"""Device models: service time of a request on an HDD or an SSD."""
