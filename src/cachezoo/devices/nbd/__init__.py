"""The emulated disk: an nbdkit plugin that makes each request take as long as the models say."""
