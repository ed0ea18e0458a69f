from tests.bundle_data import bundle_dir, bundle_dirs, trained, trained_of  # noqa: F401 - fixtures
