from tests.bundle_data import bundle_dir, trained, trained_of  # noqa: F401 - fixtures
