import socket

import pytest


@pytest.fixture(scope="session")
def data_dir(tmp_path_factory):
    """One folder for prepared data, so that each set is prepared once in a session."""
    return tmp_path_factory.mktemp("data")


@pytest.fixture(autouse=True)
def own_environment(monkeypatch):
    """No variable of the caller's decides where a test reads or what it asks."""
    for name in ("KERAS_CANON_DATA", "KERAS_CANON_FASHION_MNIST", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def connections(monkeypatch):
    """The list of all attempts to look up a host or to connect; each of them fails as it does without a network."""
    attempts = []

    def refuse(*arguments, **keywords):
        attempts.append(arguments)
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    return attempts
