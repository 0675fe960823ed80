"""What every command prints through: a console that reads no markup, and the sentence-then-exit rule."""

import contextlib
import os
import sys
from collections.abc import Callable
from importlib import import_module

import typer
from rich.console import Console
from rich.text import Text

from ..zoo.errors import CanonError

EXIT_BAD_INPUT = 2
INTERRUPTED = 130


def plain_console(*, stderr: bool = False, soft_wrap: bool = False, highlight: bool = True) -> Console:
    """Return a console that takes every text as it stands.

    Names of classes, files and data sets come from the user: "cat[/dog]" is no markup, and ":cat:" no picture. What is to be bold is
    a `rich.text.Text`.
    """
    return Console(stderr=stderr, soft_wrap=soft_wrap, highlight=highlight, markup=False, emoji=False)


def bold(text: str, rest: str = "") -> Text:
    """Return a text in bold, and another one after it that is not."""
    return Text.assemble((text, "bold"), rest)


def stopped(error: BaseException) -> typer.Exit:
    """Tell why a run stopped, and return what ends the command."""
    plain_console(stderr=True, soft_wrap=True, highlight=False).print(f"canon: {error}")
    return typer.Exit(INTERRUPTED)


def without_workers(arguments: list[str]) -> list[str]:
    """Return the command line as each worker gets it."""
    kept, left = [], iter(arguments)
    for argument in left:
        if argument == "--workers":
            next(left, None)
        elif not argument.startswith("--workers="):
            kept.append(argument)
    return kept


def quiet_tensorflow() -> None:
    """Keep TensorFlow's start-up log off the terminal, unless the user asked for it."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")


def load_tensorflow() -> None:
    """Import TensorFlow without the lines that it writes about itself, which no setting of TensorFlow 2.21 keeps back.

    They come from C++, so the file behind stderr is exchanged while TensorFlow loads; what fails is still raised.
    """
    if "tensorflow" in sys.modules:
        return
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    with contextlib.ExitStack() as stack:
        stack.callback(os.close, kept)
        stack.callback(os.close, nowhere)
        stack.callback(os.dup2, kept, 2)
        os.dup2(nowhere, 2)
        import_module("tensorflow")


def run_command(command: Callable[[], None]) -> int:
    """Run the command line and return its exit status; an error the user can mend is one sentence on stderr and status 2."""
    quiet_tensorflow()
    try:
        command()
    except CanonError as error:
        print(f"canon: {error}", file=sys.stderr)
        return EXIT_BAD_INPUT
    except OSError as error:
        where = "" if error.filename is None else f"{os.fspath(error.filename)!r}: "
        reason = error.strerror or str(error).strip().partition("\n")[0] or type(error).__name__
        print(f"canon: {where}{reason}.", file=sys.stderr)
        return EXIT_BAD_INPUT
    return 0
