import subprocess
import sys

import pytest

from keras_canon.training.data import list_datasets
from keras_canon.training.data.names import parse_name
from keras_canon.zoo import CanonError


def test_list_is_sorted_and_plain():
    pictures = {"csv:PATH", "digits", "fashion_mnist", "folder:PATH", "parquet:PATH", "synthetic", "tfds:NAME"}
    made = {"adding", "copying", "dates", "lines", "parity", "rows:NAME", "speech"}
    texts = {"bible", "books", "gettext:PAIR", "passages", "text", "text:PATH", "texts:PATH"}
    assert list_datasets() == sorted(pictures | made | texts)


def test_list_answers_without_heavy_imports():
    program = (
        "import sys, time, keras_canon.training\n"
        "start = time.process_time()  # not of the wall clock: other processes count in that\n"
        "from keras_canon.training import data; data.list_datasets()\n"
        "seconds = time.process_time() - start\n"
        "print(seconds, sorted({'tensorflow', 'numpy', 'keras', 'tensorflow_datasets'} & sys.modules.keys()))"
    )
    command = [sys.executable, "-c", program]
    answers = [subprocess.run(command, capture_output=True, text=True, check=True).stdout.split(" ", 1) for _ in range(3)]
    assert {heavy.strip() for _, heavy in answers} == {"[]"}
    assert min(float(seconds) for seconds, _ in answers) < 0.05


@pytest.mark.parametrize(
    ("name", "kind", "argument", "options"),
    [
        ("digits", "digits", "", {}),
        ("folder:a/b:c", "folder", "a/b:c", {}),
        ("synthetic", "synthetic", "", {}),
        ("synthetic:classes=3", "synthetic", "classes=3", {}),
        ("fashion_mnist[classes=0-4]", "fashion_mnist", "", {"classes": "0-4"}),
        ("folder:a[1]/b[per_class=20, unreadable=skip]", "folder", "a[1]/b", {"per_class": "20", "unreadable": "skip"}),
        ("csv:a.csv[label=kind of bird,file=a=b]", "csv", "a.csv", {"label": "kind of bird", "file": "a=b"}),
        ("tfds:cifar10:3.0.2", "tfds", "cifar10:3.0.2", {}),
        ("digits[]", "digits", "", {}),
    ],
)
def test_parse(name, kind, argument, options):
    assert parse_name(name) == (kind, argument, options)


def test_a_folder_that_is_called_like_options_is_a_folder(tmp_path):
    (tmp_path / "photos[per_class=3]").mkdir()
    assert parse_name(f"folder:{tmp_path}/photos[per_class=3]").options == {}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("digits[shots=3]", r"'digits' takes classes, per_class in brackets, .* got shots='3'"),
        ("digits[classes]", "got classes=''"),
        ("digits[unreadable=skip]", "'digits' takes classes, per_class in brackets"),
        ("folder:a[label=b]", "takes classes, per_class, unreadable in brackets"),
        ("csv:a[colour=b]", "takes classes, per_class, unreadable, file, label, split in brackets"),
        ("digits[per_class=0]", "per_class must be a whole number of at least 1, got '0'"),
        ("digits[per_class=few]", "got 'few'"),
        ("csv:", "A list of pictures is named csv:PATH"),
        ("parquet", "A list of pictures is named parquet:PATH"),
        ("tfds:", "is named tfds:NAME"),
    ],
)
def test_bad_options_are_refused(name, message):
    with pytest.raises(CanonError, match=message):
        parse_name(name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("digit", "There is no data set 'digit': did you mean 'digits' or 'adding'?"),
        ("fashion-mnist", "There is no data set 'fashion-mnist': did you mean 'fashion_mnist'?"),
        ("zzz", "There is no data set 'zzz': for example adding, bible, books, copying."),
        ("digits:3", "There is no data set 'digits:3': did you mean 'digits'?"),
        ("folder", "A folder of pictures is named folder:PATH, for example folder:photos."),
        ("folder:", "A folder of pictures is named folder:PATH, for example folder:photos."),
        (
            3,
            f"A data set is named by a string, one of {', '.join(list_datasets())}, got 3.",
        ),
    ],
)
def test_unknown_name_gives_the_nearest(name, message):
    with pytest.raises(CanonError) as caught:
        parse_name(name)
    assert str(caught.value) == message
    assert isinstance(caught.value, ValueError)


def test_a_path_without_its_prefix_is_told_the_prefix(tmp_path):
    with pytest.raises(CanonError, match="a folder of pictures is named folder:"):
        parse_name(str(tmp_path))
