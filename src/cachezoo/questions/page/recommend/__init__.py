"""From a trace to a policy and a size: what to run, what the next size brings, and how sure that is."""
