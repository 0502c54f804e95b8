"""Which promises a suite makes, and which of them an error came from."""

import ast
import inspect
import re
import traceback
from pathlib import Path


def promises(module):
    """Line -> source of every call of a module that requires something of a class."""
    text = Path(inspect.getsourcefile(module)).read_text(encoding="utf-8")
    found = {}
    for function in ast.parse(text).body:
        if isinstance(function, ast.FunctionDef) and not _helps(function.name):
            calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
            for call in calls:
                if _helps(ast.unparse(call.func).rpartition(".")[2]):
                    lines = range(call.lineno, call.end_lineno + 1)
                    source = f"line {call.lineno}, {function.name}: {ast.unparse(call)}"
                    found |= dict.fromkeys(lines, source)
    return found


def broken_promise(module, error):
    """Source of the call in a module that raised an error."""
    path = inspect.getsourcefile(module)
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == path and not _helps(frame.name)
    ]
    return promises(module)[lines[-1]]


def error_of(check, *args, **kwargs):
    """The AssertionError that a check raises, or None."""
    try:
        check(*args, **kwargs)
    except AssertionError as error:
        return error
    return None


def says(error, expected):
    """Whether a message starts as expected, with anything where that has an ellipsis."""
    pattern = ".*".join(re.escape(part) for part in expected.split("..."))
    return re.match(pattern, str(error), re.DOTALL) is not None


def _helps(name):
    return name.lstrip("_").startswith("require")
