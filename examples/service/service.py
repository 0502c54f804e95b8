"""An HTTP service that serves calibrated forecasts and learns from outcomes.

    python examples/service/service.py --folder state --port 8000

POST /forecast   {"mean": 3.1, "std": 0.4}, {"samples": [2.7, 3.0, ...]} or
                 {"levels": [0.1, 0.5, 0.9], "quantiles": [2.5, 3.0, 3.8]}
                 -> id, the calibrated interval and quantiles
POST /outcome    {"id": "...", "y": 3.4}
                 -> number of rows learned; safe to send again if the reply was lost
GET  /health     -> rows, pending forecasts, drift

Forecasts and outcomes are kept in a SQLite database, the calibration map in a journal. An outcome
is committed to the database, then learned by the map, then acknowledged. The database numbers the
outcomes. A service that was killed in between therefore finds the outcomes that its map misses
when it starts again: every acknowledged outcome counts, and it counts once.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sqlite3
import threading
import traceback
import uuid
import warnings
from collections.abc import Sequence
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import trueline as tl
from trueline.streams import Journal

LARGEST_BODY = 1 << 16  # bytes
LEVELS = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
#: Forecasts are returned as they come until this number of outcomes is known.
FEWEST_ROWS = 30
#: Older forecasts are dropped, with or without an outcome; their ids are unknown from then on.
MOST_FORECASTS = 100_000
TABLE = """CREATE TABLE IF NOT EXISTS forecasts (
    number INTEGER PRIMARY KEY, id TEXT UNIQUE, forecast TEXT, y REAL, row INTEGER UNIQUE
)"""


class RequestError(ValueError):
    """A request that cannot be served. Other ValueErrors mean status 400."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def number(value: Any, name: str) -> float:
    """Check a JSON number."""
    usable = isinstance(value, int | float) and not isinstance(value, bool)
    if not (usable and -1e100 < value < 1e100):  # the bounds keep widths finite and exclude NaN
        raise ValueError(f"{name} is {value!r:.40}; expected a number between -1e100 and 1e100.")
    return float(value)


def numbers(value: Any, name: str) -> list[float]:
    """Check a JSON array of numbers."""
    if not isinstance(value, list):
        raise ValueError(f"{name} is {value!r:.40}; expected an array of numbers.")
    return [number(item, f"{name}[{i}]") for i, item in enumerate(value)]


def as_forecast(data: dict[str, Any]) -> tl.Distribution:
    """Turn the body of a request into a forecast of one row; trueline checks the values."""
    match data:
        case {"mean": mean, "std": std} if len(data) == 2:
            return tl.Normal(number(mean, "mean"), number(std, "std"))
        case {"samples": samples} if len(data) == 1:
            return tl.Samples([numbers(samples, "samples")])
        case {"levels": levels, "quantiles": values} if len(data) == 2:
            return tl.Quantiles(numbers(levels, "levels"), [numbers(values, "quantiles")])
    expected = "mean and std, samples, or levels and quantiles"
    raise ValueError(f"received {', '.join(data) or 'no fields':.200}; expected {expected}.")


class Service:
    """Forecasts, outcomes and the map that learns from them; safe to call from any thread."""

    def __init__(self, folder: Path, coverage: float = 0.9) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.coverage = coverage
        self.lock = threading.Lock()  # of the database and of the order of the outcomes
        self.db = sqlite3.connect(folder / "forecasts.sqlite", check_same_thread=False)
        # Exclusive: a second service on the same folder stops with "database is locked".
        for setting in ("locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = FULL"):
            self.db.execute(f"PRAGMA {setting}")
        self.db.execute(TABLE)
        self.journal = Journal(folder / "map", tl.Online())
        self._learn()

    @property
    def rows(self) -> int:
        """Number of outcomes that the map has learned."""
        return int(getattr(self.journal.online, "rows_seen_", 0))

    def _checked(self, data: dict[str, Any]) -> tl.Distribution:
        dist = as_forecast(data)
        known = self.journal.online.score_kind_ if self.rows else dist.score_kind
        if dist.score_kind != known:
            raise ValueError(
                f"received {' and '.join(data)}, but the outcomes so far were those of another "
                f"kind of forecast; expected the same kind every time. Serve it from a folder of "
                f"its own."
            )
        return dist

    def forecast(self, data: dict[str, Any]) -> dict[str, Any]:
        """Calibrate a forecast and keep it until its outcome comes."""
        served = dist = self._checked(data)
        calibrated = self.rows >= FEWEST_ROWS
        if calibrated:  # no lock: readers see the map as it is before or after an update
            served = self.journal.transform(dist)
        interval = [float(end[0]) for end in served.interval(self.coverage)]
        quantiles = dict(zip(map(str, LEVELS), served.ppf(LEVELS)[0].tolist(), strict=True))
        kept = uuid.uuid4().hex, json.dumps(data)
        with self.lock, self.db:
            new = self.db.execute("INSERT INTO forecasts (id, forecast) VALUES (?, ?)", kept)
            old = (new.lastrowid - MOST_FORECASTS,)
            self.db.execute("DELETE FROM forecasts WHERE number <= ?", old)
        reply = {"id": kept[0], "calibrated": calibrated, "coverage": self.coverage}
        return reply | {"interval": interval, "quantiles": quantiles}

    def outcome(self, data: dict[str, Any]) -> dict[str, Any]:
        """Learn an outcome; the same outcome again changes nothing."""
        if data.keys() != {"id", "y"} or not isinstance(data["id"], str):
            raise ValueError("expected the fields id, a string, and y, a number.")
        name, y = data["id"], number(data["y"], "y")
        with self.lock:
            query = "SELECT forecast, y FROM forecasts WHERE id = ?"
            found = self.db.execute(query, (name,)).fetchone()
            if found is None:
                raise RequestError(404, "this id is not that of a forecast that is kept.")
            text, known = found
            if known not in {None, y}:
                raise RequestError(409, f"the outcome of this id is known already: {known}.")
            if known is None:
                dist = self._checked(json.loads(text))
                tl.Online().update(y, dist)  # raises now what the map would raise later
                change = "UPDATE forecasts SET y = ?, row = ? WHERE id = ?"
                with self.db:
                    self.db.execute(change, (y, self.rows + 1, name))
            try:
                self._learn()
            except Exception:  # noqa: BLE001  # the files are right, but this process may not be
                traceback.print_exc()
                os._exit(1)
            return {"id": name, "rows": self.rows, "repeated": known is not None}

    def _learn(self) -> None:
        """Learn the outcomes in the database that the map misses: a new one, or after a kill."""
        query = "SELECT forecast, y FROM forecasts WHERE row > ? ORDER BY row"
        for text, y in self.db.execute(query, (self.rows,)).fetchall():
            self.journal.update(y, as_forecast(json.loads(text)))

    def health(self) -> dict[str, Any]:
        """Return the number of rows and of forecasts without an outcome, and the drift."""
        with self.lock:
            query = "SELECT count(*) FROM forecasts WHERE row IS NULL"
            pending = self.db.execute(query).fetchone()[0]
            drift = asdict(self.journal.online.drift_) if self.rows else None
            return {"rows": self.rows, "pending": pending, "drift": drift}

    def close(self) -> None:
        """Close the files."""
        with self.lock:
            self.journal.close()
            self.db.close()


class Handler(BaseHTTPRequestHandler):
    """Reads and answers one request."""

    timeout = 10.0  # seconds that a slow client may keep a thread

    def do_GET(self) -> None:
        self._answer({"/health": self.server.service.health})

    def do_POST(self) -> None:
        service = self.server.service
        self._answer({"/forecast": service.forecast, "/outcome": service.outcome}, self._body)

    def _answer(self, routes: dict[str, Any], *readers: Any) -> None:
        try:
            if self.path not in routes:
                raise RequestError(404, f"there is no {self.command} {self.path:.80}.")
            status, reply = 200, routes[self.path](*(read() for read in readers))
        except ValueError as error:
            status, reply = getattr(error, "status", 400), {"error": str(error)}
        except (OSError, sqlite3.Error) as error:  # such as a full disk
            status, reply = 503, {"error": f"{type(error).__name__}: {error}"}
        self._reply(status, reply)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer what the base class refuses, such as PUT, like any other error."""
        self.close_connection = True
        self._reply(code, {"error": f"{message or self.responses[code][0]}."})

    def _reply(self, status: int, reply: dict[str, Any]) -> None:
        content = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _body(self) -> dict[str, Any]:
        """Read a JSON object of bounded size."""
        given = self.headers.get("Content-Length", "0")
        if not given.isascii() or not given.isdigit():
            raise ValueError(f"Content-Length is {given:.40}; expected a number of bytes.")
        length = int(given[:20])
        # Read more than is allowed: closing a connection with unread bytes may lose the reply.
        content = self.rfile.read(min(length, 16 * LARGEST_BODY))
        if length > LARGEST_BODY:
            raise RequestError(413, f"received {length} bytes; at most {LARGEST_BODY} are allowed.")
        try:
            data = json.loads(content)
        except (ValueError, RecursionError) as error:  # the latter if it is nested too deeply
            raise ValueError(f"the body is not JSON: {error}.") from None
        if not isinstance(data, dict):
            raise ValueError(f"the body is a JSON {type(data).__name__}; expected an object.")
        return data

    def log_message(self, *args: Any) -> None:
        """Write no line per request."""


class Server(ThreadingHTTPServer):
    """One thread per connection."""

    daemon_threads = False  # closing waits for requests that have begun
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], service: Service) -> None:
        super().__init__(address, Handler)
        self.service = service


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until SIGTERM or Ctrl-C."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True, help="where the state is kept")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000, help="0 for any free port")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", tl.CalibrationWarning)
    try:
        service = Service(options.folder)
        server = Server((options.host, options.port), service)
    except (OSError, OverflowError, RuntimeError, ValueError, sqlite3.Error) as error:
        parser.exit(1, f"cannot serve {options.folder} on {options.host}:{options.port}: {error}\n")
    for name in (signal.SIGTERM, signal.SIGINT):
        # In a thread, because shutdown waits for serve_forever to return.
        signal.signal(name, lambda *_: threading.Thread(target=server.shutdown).start())
    print(f"serving on http://{options.host}:{server.server_port}", flush=True)
    server.serve_forever()
    server.server_close()
    service.close()


if __name__ == "__main__":
    main()
