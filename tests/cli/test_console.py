"""What every command prints through: names of the user stand as they are, and what the user can mend is one sentence."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer
from rich.table import Table
from rich.text import Text
from typer.testing import CliRunner

from keras_canon import cli
from keras_canon.cli.console import EXIT_BAD_INPUT, bold, plain_console, run_command
from keras_canon.cli.main import app
from keras_canon.training import evaluation

NAMES = ("fashion_mnist[classes=0-4]", "cat[/dog]", ":cat:", "[bold]x", "a\\[b]")


def test_names_stand_as_they_are_in_text_and_in_tables(capsys):
    console = plain_console()
    table = Table(*NAMES[:1], title=NAMES[1])
    for name in NAMES:
        console.print(name)
        table.add_row(name)
    console.print(bold(NAMES[1], NAMES[0]))
    console.print(table)
    found = capsys.readouterr().out
    assert all(found.count(name) >= 2 for name in NAMES)


def test_no_command_has_a_console_that_reads_markup():
    for path in Path(cli.__file__).parent.glob("*.py"):
        if path.name != "console.py":
            assert not re.search(r"\bConsole\(", path.read_text(encoding="utf-8")), path.name


def test_help_loses_no_word_in_brackets():
    """Rich takes [default: x] for markup and leaves it out."""
    for name, command in typer.main.get_command(app).commands.items():
        texts = [command.help, command.epilog, *(parameter.help for parameter in command.params if hasattr(parameter, "help"))]
        for text in filter(None, texts):
            assert Text.from_markup(text).plain == text.replace("\\[", "["), f"{name}: {text}"


def test_evaluate_shows_the_names_of_data_and_classes(monkeypatch):
    row = SimpleNamespace(name="cat[/dog]", precision=0.5, recall=0.5, f1=0.5, examples=4)
    found = SimpleNamespace(data=NAMES[0], split="test", accuracy=0.5, truth=[0] * 4, by_class=lambda: [row])
    monkeypatch.setattr(evaluation, "evaluate", lambda *arguments, **options: found)
    output = CliRunner().invoke(app, ["evaluate", "runs/x"]).output
    assert "fashion_mnist[classes=0-4], test split: accuracy 0.5000 of 4 examples" in output
    assert "cat[/dog]" in output


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (PermissionError(13, "Permission denied", "/root/out"), "canon: '/root/out': Permission denied.\n"),
        (OSError("Unable to create file (errno = 13)\nmore"), "canon: Unable to create file (errno = 13).\n"),
    ],
)
def test_what_the_system_refuses_is_one_sentence(error, words, capsys):
    def command():
        raise error

    assert run_command(command) == EXIT_BAD_INPUT
    assert capsys.readouterr().err == words
