import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from PIL import Image

from keras_canon.training.data import load
from keras_canon.zoo import CanonError

pytestmark = pytest.mark.filterwarnings("ignore:Classes with fewer than 5 training examples:UserWarning")


@pytest.fixture
def rows(tmp_path):
    """Twelve pictures in one folder without any order, and what a list says of them."""
    found = []
    for number in range(12):
        path = tmp_path / "all" / f"{number:02d}.png"
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(np.random.default_rng(number).integers(0, 256, (5, 6, 3), dtype="uint8")).save(path)
        found.append([f"all/{path.name}", "é bird" if number % 2 else "ant"])
    return found


def write(path, header, rows):
    path.write_text("\n".join(",".join(row) for row in [header, *rows]) + "\n", encoding="utf-8-sig")
    return path


def test_csv(tmp_path, rows):
    path = write(tmp_path / "list.csv", ["file", "label"], rows)
    dataset = load(f"csv:{path}", data_dir=tmp_path / "prepared")
    assert dataset.class_names == ("ant", "é bird")
    assert {name: len(split) for name, split in dataset.splits.items()} == {"train": 8, "validation": 2, "test": 2}
    labels = dict(rows)
    for split in dataset.splits.values():
        for number, (identity, label) in enumerate(zip(split.ids.tolist(), split.labels.tolist(), strict=True)):
            assert dataset.class_names[label] == labels[identity]
            np.testing.assert_array_equal(split.image(number), np.asarray(Image.open(tmp_path / identity)))
    assert dataset.facts["source"] == str(path)


def test_columns_splits_and_absolute_files(tmp_path, rows):
    parts = ["train"] * 8 + ["val"] * 2 + ["test"] * 2
    full = [["1", str(tmp_path / file), label, part] for (file, label), part in zip(rows, parts, strict=True)]
    path = write(tmp_path / "list.csv", ["number", "picture", "species", "part"], full)
    dataset = load(f"csv:{path}[file=picture,label=species,split=part]", data_dir=tmp_path / "prepared")
    assert {name: len(split) for name, split in dataset.splits.items()} == {"train": 8, "validation": 2, "test": 2}
    np.testing.assert_array_equal(dataset.test.image(0), np.asarray(Image.open(tmp_path / rows[10][0])))


def test_parquet_says_what_csv_says(tmp_path, rows):
    write(tmp_path / "list.csv", ["file", "label"], rows)
    table = pyarrow.table({"file": [row[0] for row in rows], "label": [row[1] for row in rows]})
    pyarrow.parquet.write_table(table, tmp_path / "list.parquet")
    first, second = (load(f"{kind}:{tmp_path}/list.{kind}", data_dir=tmp_path / "prepared") for kind in ("csv", "parquet"))
    assert first.class_names == second.class_names
    for name, split in first.splits.items():
        assert second.splits[name].ids.tolist() == split.ids.tolist()
        assert second.splits[name].labels.tolist() == split.labels.tolist()


def test_a_changed_label_is_noticed(tmp_path, rows):
    path = write(tmp_path / "list.csv", ["file", "label"], rows)
    before = load(f"csv:{path}", data_dir=tmp_path / "prepared")
    write(path, ["file", "label"], [[rows[0][0], "é bird"], *rows[1:]])
    after = load(f"csv:{path}", data_dir=tmp_path / "prepared")
    assert sum(int((split.labels == 1).sum()) for split in after.splits.values()) == 7
    assert after.facts["version"] != before.facts["version"]


def test_missing_files_are_named(tmp_path, rows):
    path = write(tmp_path / "list.csv", ["file", "label"], [*rows, ["all/none.png", "ant"]])
    with pytest.raises(CanonError, match=r"1 pictures in .*list\.csv cannot be decoded .*all/none\.png \(No such file or directory\)"):
        load(f"csv:{path}", data_dir=tmp_path / "prepared")
    with pytest.warns(UserWarning, match=r"all/none\.png"):
        dataset = load(f"csv:{path}[unreadable=skip]", data_dir=tmp_path / "prepared")
    assert sum(len(split) for split in dataset.splits.values()) == 12


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "lists no picture"),
        ("file,label\n", "lists no picture"),
        ("file;label\na.png;x\n", "has no column 'file' but file;label"),
        ("path,label\na.png,x\n", r"has no column 'file' but path, label: name it, as in csv:list\.csv\[file=COLUMN\]"),
        ("file,label\na.png,\n", r"Row 2 of .*list\.csv has no label"),
        ("file,label\n,x\n", "Row 2 .* has no file"),
        ("file,label\na.png\n", "Row 2 .* has not as many values as the header"),
        ("file,label\na.png,x,y\n", "Row 2 .* has not as many values as the header"),
        ("file,label\na.png,x\na.png,y\n", r"lists a\.png twice with different labels"),
        ("file,label,split\na.png,x,dev\n", "has the split 'dev': allowed: train, validation"),
        ("file,label\na.png,x\nb.png,x\n", "holds only the class 'x'"),
    ],
)
def test_bad_lists_are_one_sentence(tmp_path, content, message):
    (tmp_path / "list.csv").write_text(content)
    with pytest.raises(CanonError, match=message) as caught:
        load(f"csv:{tmp_path / 'list.csv'}", data_dir=tmp_path / "prepared")
    assert "\n" not in str(caught.value)


def test_files_that_are_no_lists(tmp_path):
    (tmp_path / "list").write_bytes(b"\xff\xfe\x00\x01 no list")
    for kind in ("csv", "parquet"):
        with pytest.raises(CanonError, match="cannot be read as"):
            load(f"{kind}:{tmp_path / 'list'}")
        with pytest.raises(CanonError, match="There is no file"):
            load(f"{kind}:{tmp_path / 'none'}")
