"""What every serving model shares: requests in batches, and what a kind of bundle has to say. numpy alone."""
