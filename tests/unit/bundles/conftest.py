from tests.bundle_data import bundle_dir, trained  # noqa: F401 - fixtures
