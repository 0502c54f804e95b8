"""One thread, so that tests that run side by side do not fight over the processor."""

import pytest

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def array_api(monkeypatch):
    """Let scikit-learn's checks of array API input run: they skip unless this is set."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
