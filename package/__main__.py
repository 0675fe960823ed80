"""`python -m keras_canon` is the `canon` command."""

from .cli.main import run

run()
