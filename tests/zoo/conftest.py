"""What every test of the zoo starts from."""

import keras
import pytest


@pytest.fixture(autouse=True)
def no_variables_without_values():
    """Forget variables that a test built without values: Keras would allocate them all at the next symbolic call of another test."""
    yield
    keras.backend.clear_session(free_memory=False)
