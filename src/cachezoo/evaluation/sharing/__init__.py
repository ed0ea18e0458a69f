"""Whether applications should share a cache or split it: chosen on validation mixes, judged on test mixes."""
