from tests.bundle_data import trained_of  # noqa: F401 - a fixture
