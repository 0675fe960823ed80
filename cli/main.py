"""The `canon` command: it only names the commands; each lives in a file of its own and imports TensorFlow when it runs."""

import sys
from typing import Annotated

import typer

from . import (
    compare,
    demo,
    doctor,
    draw,
    evaluate,
    explain,
    export,
    features,
    finetune,
    generate,
    inspect,
    models,
    predict,
    serve,
    train,
    tune,
)
from .console import run_command

app = typer.Typer(
    name="canon",
    help="Keras Canon: import, train, export and serve the canon of neural networks, LeNet to Transformer.",
    epilog="Start with: canon demo",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("list")(models.list_command)
app.command("info")(models.info_command)
app.command("demo")(demo.demo)
app.command("draw")(draw.draw)
app.command("train")(train.train)
app.command("finetune")(finetune.finetune)
app.command("tune")(tune.tune)
app.command("compare")(compare.compare)
app.command("evaluate")(evaluate.evaluate)
app.command("predict")(predict.predict)
app.command("generate")(generate.generate)
app.command("explain")(explain.explain)
app.command("features")(features.features)
app.command("doctor")(doctor.doctor)
app.command("export")(export.export)
app.command("inspect")(inspect.inspect)
app.command("serve")(serve.serve)


def _version(show: bool) -> None:
    if show:
        from .. import __version__

        print(f"keras-canon {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.", callback=_version, is_eager=True)] = False,
) -> None:
    """Keras Canon: import, train, export and serve the canon of neural networks, LeNet to Transformer."""


def run() -> None:
    """Run the command line; installed as `canon`."""
    sys.exit(run_command(app))
