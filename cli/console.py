"""What every command prints through: one console for answers, one for errors, and the sentence-then-exit rule."""

import contextlib
import os
import sys
from collections.abc import Callable
from importlib import import_module

from ..zoo.errors import CanonError

EXIT_BAD_INPUT = 2


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
    except KeyboardInterrupt:
        print("canon: stopped.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # the reader (head, less) went away; nothing is wrong
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return 0
