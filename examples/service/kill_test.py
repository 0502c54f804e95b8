"""Kill the service again and again, and check that no acknowledged outcome was lost.

    python examples/service/kill_test.py --kills 50

Eight clients ask for forecasts and send outcomes. An outcome without an acknowledgement is sent
again until it has one. Meanwhile the service is killed with SIGKILL at random times and started
again. In the end every outcome must have been learned once, and the map must be the one that a
single thread learns from the same outcomes in the same order.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from service import as_forecast

import trueline as tl
from trueline.streams import Journal

SERVICE = Path(__file__).with_name("service.py")


class Running:
    """A service in a process of its own, started again after every kill."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.start()

    def start(self) -> None:
        """Start the service and wait until it serves."""
        command = [sys.executable, str(SERVICE), "--folder", str(self.folder), "--port", "0"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline() if self.process.stdout else ""
        if not line:
            raise RuntimeError(f"the service did not start: exit code {self.process.wait()}.")
        self.address = urlsplit(line.split()[-1]).netloc

    def stop(self, number: int) -> int:
        """Send a signal and return the exit code."""
        self.process.send_signal(number)
        code = self.process.wait(timeout=30)
        if self.process.stdout:
            self.process.stdout.close()
        return code

    def call(self, method: str, path: str, data: Any = None) -> tuple[int, Any]:
        """Send a request; raise OSError or HTTPException if there is no whole answer."""
        connection = http.client.HTTPConnection(self.address, timeout=10)
        try:
            connection.request(method, path, None if data is None else json.dumps(data))
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def insist(self, path: str, data: Any) -> Any:
        """Post until there is an answer."""
        while True:
            try:
                status, reply = self.call("POST", path, data)
            except (OSError, http.client.HTTPException, ValueError):
                time.sleep(0.02)
                continue
            if status != 200:
                raise RuntimeError(f"{path} answered {status}: {reply}")
            return reply


def client(service: Running, seed: int, stop: threading.Event, sent: dict[str, float]) -> None:
    """Ask for forecasts and send outcomes until the event is set; note what was acknowledged."""
    draw = random.Random(seed)
    while not stop.is_set():
        forecast = {"mean": draw.gauss(0.0, 1.0), "std": 0.5}
        name = service.insist("/forecast", forecast)["id"]
        y = forecast["mean"] + draw.gauss(0.0, 1.0)
        service.insist("/outcome", {"id": name, "y": y})
        sent[name] = y


def replayed(folder: Path) -> tuple[dict[str, float], tl.Online]:
    """Return the outcomes in the database, and the map that one thread learns from them."""
    with sqlite3.connect(folder / "forecasts.sqlite") as db:
        query = "SELECT id, forecast, y FROM forecasts WHERE row IS NOT NULL ORDER BY row"
        kept = db.execute(query).fetchall()
    R = tl.Online()
    for _, forecast, y in kept:
        R.update(y, as_forecast(json.loads(forecast)))
    return {name: y for name, _, y in kept}, R


def run(folder: Path, kills: int, clients: int, seed: int) -> str:
    """Kill the service, check everything, and return a sentence with the numbers."""
    draw = random.Random(seed)
    service, stop = Running(folder), threading.Event()
    sent: list[dict[str, float]] = [{} for _ in range(clients)]
    threads = [
        threading.Thread(target=client, args=(service, seed + i, stop, sent[i]), daemon=True)
        for i in range(clients)
    ]
    for thread in threads:
        thread.start()
    for kill in range(kills):
        time.sleep(draw.uniform(0.1, 0.6))
        service.stop(signal.SIGKILL)
        acknowledged = sum(map(len, sent))
        service.start()
        rows = service.call("GET", "/health")[1]["rows"]
        print(f"kill {kill + 1}: {acknowledged} acknowledged, {rows} rows", flush=True)
        if rows < acknowledged:
            raise RuntimeError(f"{acknowledged - rows} acknowledged rows were lost.")
    stop.set()
    for thread in threads:
        thread.join()
    code = service.stop(signal.SIGTERM)
    acknowledged = {name: y for part in sent for name, y in part.items()}
    kept, expected = replayed(folder)
    with Journal(folder / "map") as journal:
        checks = {
            "the service stopped with code 0": code == 0,
            "every client has worked": all(sent),
            "acknowledged and kept outcomes are the same": acknowledged == kept,
            "every outcome was learned once": journal.online.rows_seen_ == len(kept),
            "the map is that of one thread": journal.online.to_bytes() == expected.to_bytes(),
        }
    failed = [check for check, passed in checks.items() if not passed]
    if failed:
        raise RuntimeError(f"not true: {'; '.join(failed)}.")
    return f"{kills} kills, {len(kept)} acknowledged outcomes, each learned once."


def main(arguments: Sequence[str] | None = None) -> None:
    """Run in a temporary folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", tl.CalibrationWarning)
    with tempfile.TemporaryDirectory() as folder:
        print(run(Path(folder), options.kills, options.clients, options.seed))


if __name__ == "__main__":
    main()
