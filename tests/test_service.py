"""The worked service: what it answers, what it refuses, and what it keeps when it is killed."""

import http.client
import importlib.util
import json
import socket
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[1] / "examples" / "service"

pytestmark = pytest.mark.filterwarnings("ignore::trueline.CalibrationWarning")


@pytest.fixture(scope="module")
def module():
    spec = importlib.util.spec_from_file_location("service", FOLDER / "service.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@pytest.fixture
def address(module, tmp_path):
    """Address of a running service."""
    service = module.Service(tmp_path)
    server = module.Server(("127.0.0.1", 0), service)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield "127.0.0.1", server.server_port
    server.shutdown()
    thread.join()
    server.server_close()
    service.close()


def call(address, method, path, body=None):
    """Return the status and the decoded reply; a body that is not a string becomes JSON."""
    connection = http.client.HTTPConnection(*address, timeout=30)
    try:
        data = body if body is None or isinstance(body, str) else json.dumps(body)
        connection.request(method, path, data)
        answer = connection.getresponse()
        assert answer.headers["Content-Type"] == "application/json"
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def test_eight_clients_teach_it_to_calibrate(address):
    """Forecasts are three times too narrow; 400 outcomes from eight threads correct that."""

    def client(seed):
        rng = np.random.default_rng(seed)
        for mean in rng.normal(size=50).tolist():
            _, reply = call(address, "POST", "/forecast", {"mean": mean, "std": 1.0})
            outcome = {"id": reply["id"], "y": mean + 3.0 * float(rng.normal())}
            status, learned = call(address, "POST", "/outcome", outcome)
            answers.append((status, learned["repeated"]))

    answers = []
    threads = [threading.Thread(target=client, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [(200, False)] * 400
    status, health = call(address, "GET", "/health")
    assert (status, health["rows"], health["pending"]) == (200, 400, 0)
    _, reply = call(address, "POST", "/forecast", {"mean": 10.0, "std": 1.0})
    assert reply["calibrated"]
    # Ends of the true interval, 10 +- 3 * 1.645; their standard error is
    # 3 * sqrt(0.05 * 0.95 / 400) / 0.103 = 0.32, and four of those are allowed.
    np.testing.assert_allclose(reply["interval"], [5.07, 14.93], atol=1.3)
    assert list(reply["quantiles"].values()) == sorted(reply["quantiles"].values())


def test_an_outcome_sent_twice_counts_once(address):
    _, reply = call(address, "POST", "/forecast", {"samples": [1.0, 2.5, 3.0, 4.0]})
    assert not reply["calibrated"]
    outcome = {"id": reply["id"], "y": 2.0}
    assert call(address, "POST", "/outcome", outcome)[1]["repeated"] is False
    assert call(address, "POST", "/outcome", outcome) == (
        200,
        {"id": reply["id"], "rows": 1, "repeated": True},
    )
    status, refused = call(address, "POST", "/outcome", outcome | {"y": 2.5})
    assert status == 409
    assert "known already: 2.0" in refused["error"]


@pytest.mark.parametrize(
    "method, path, body, status, part",
    [
        ("GET", "/", None, 404, "there is no GET /"),
        ("POST", "/health", {}, 404, "there is no POST /health"),
        ("PUT", "/forecast", {}, 501, "Unsupported method ('PUT')."),
        ("POST", "/forecast", None, 400, "the body is not JSON: Expecting value"),
        ("POST", "/forecast", "{", 400, "the body is not JSON: Expecting property name"),
        ("POST", "/forecast", "[" * 60_000, 400, "the body is not JSON: maximum recursion"),
        ("POST", "/forecast", [1.0], 400, "the body is a JSON list; expected an object"),
        ("POST", "/forecast", {"mean": 1e299, "std": 1.0}, 400, "between -1e100 and 1e100"),
        ("POST", "/forecast", {"mean": 1.0}, 400, "received mean; expected mean and std"),
        ("POST", "/forecast", {"mean": True, "std": 1.0}, 400, "mean is True; expected a number"),
        ("POST", "/forecast", '{"mean": NaN, "std": 1}', 400, "mean is nan; expected a number"),
        ("POST", "/forecast", {"mean": 10**400, "std": 1.0}, 400, "expected a number"),
        ("POST", "/forecast", {"mean": 1.0, "std": -1.0}, 400, "scale"),
        ("POST", "/forecast", {"samples": 3.0}, 400, "samples is 3.0; expected an array"),
        ("POST", "/forecast", {"samples": [1.0, "a"]}, 400, "samples[1] is 'a'"),
        ("POST", "/forecast", {"levels": [0.5], "quantiles": [1.0, 2.0]}, 400, "levels"),
        ("POST", "/forecast", {"samples": [0.123456789] * 10_000}, 413, "at most 65536"),
        ("POST", "/outcome", {"id": "a"}, 400, "expected the fields id"),
        ("POST", "/outcome", {"id": "a", "y": "b"}, 400, "y is 'b'"),
        ("POST", "/outcome", {"id": "a", "y": 1.0}, 404, "this id"),
        ("POST", "/outcome", {"id": "\ud800", "y": 1.0}, 400, "surrogates"),
    ],
)
def test_bad_requests_are_answered_with_a_reason(address, method, path, body, status, part):
    answered, reply = call(address, method, path, body)
    assert answered == status
    assert part in reply["error"]
    assert call(address, "GET", "/health")[1]["rows"] == 0


def test_it_goes_on_where_it_stopped(module, tmp_path, monkeypatch, capsys):
    """Pending forecasts survive, and an outcome that was stored but not learned is learned."""

    def fail(*_):
        raise OSError("disk full")

    def leave(code):
        raise SystemExit(code)

    monkeypatch.setattr(module.os, "_exit", leave)
    first = module.Service(tmp_path)
    ids = [first.forecast({"mean": 0.0, "std": 1.0})["id"] for _ in range(3)]
    first.outcome({"id": ids[0], "y": 0.5})
    first.journal.update = fail
    with pytest.raises(SystemExit, match="1"):
        first.outcome({"id": ids[1], "y": -0.5})
    assert "disk full" in capsys.readouterr().err
    first.close()
    second = module.Service(tmp_path)
    assert second.health()["rows"] == 2
    assert second.outcome({"id": ids[1], "y": -0.5})["repeated"]
    assert second.outcome({"id": ids[2], "y": 1.0}) == {
        "id": ids[2],
        "rows": 3,
        "repeated": False,
    }
    second.close()


def test_what_the_map_cannot_learn_is_refused_before_it_is_stored(module, tmp_path):
    service = module.Service(tmp_path)
    normal = service.forecast({"mean": 0.0, "std": 1.0})["id"]
    draws = service.forecast({"samples": [1.0, 2.0]})["id"]
    narrow = service.forecast({"mean": 0.0, "std": 1e-99})["id"]
    service.outcome({"id": normal, "y": 0.5})
    other = "^received samples, but the outcomes so far were those of another kind of forecast;"
    with pytest.raises(ValueError, match=other):
        service.outcome({"id": draws, "y": 0.5})
    with pytest.raises(ValueError, match=other):
        service.forecast({"samples": [1.0, 2.0]})
    with pytest.raises(ValueError, match=r"^a score is 1e\+198, beyond what float64 can carry"):
        service.outcome({"id": narrow, "y": 1e99})
    assert service.health() | {"drift": None} == {"rows": 1, "pending": 2, "drift": None}
    assert service.outcome({"id": narrow, "y": 0.0})["rows"] == 2
    service.close()


def test_a_folder_or_port_in_use_is_one_line(module, tmp_path, capsys):
    service = module.Service(tmp_path / "used")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for folder, reason in (("used", "database is locked"), ("new", "Address already in use")):
            with pytest.raises(SystemExit, match=r"^1$"):
                module.main(["--folder", str(tmp_path / folder), "--port", port])
            said = capsys.readouterr().err
            assert said.startswith(f"cannot serve {tmp_path / folder} on 127.0.0.1:{port}: ")
            assert reason in said
            assert said.count("\n") == 1
    service.close()


def test_old_forecasts_are_dropped(module, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MOST_FORECASTS", 2)
    service = module.Service(tmp_path)
    ids = [service.forecast({"mean": 0.0, "std": 1.0})["id"] for _ in range(3)]
    with pytest.raises(module.RequestError, match="not that of a forecast"):
        service.outcome({"id": ids[0], "y": 0.5})
    assert service.outcome({"id": ids[1], "y": 0.5})["rows"] == 1
    service.close()


def test_no_acknowledged_outcome_is_lost_when_it_is_killed():
    command = [sys.executable, str(FOLDER / "kill_test.py"), "--kills", "3"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-1].startswith("3 kills, ")
