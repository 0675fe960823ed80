import pytest


@pytest.fixture(scope="session", autouse=True)
def prepared_data(tmp_path_factory):
    """Data are prepared in a folder of the session, not in the home of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERAS_CANON_DATA", str(tmp_path_factory.mktemp("prepared")))
        yield
