import pytest

from keras_canon.serving.versions import list_versions, new_version
from keras_canon.zoo import CanonError


def write(directory, version=None):
    with new_version(directory, version) as folder:
        (folder.path / "file").write_text("content")
        assert list_versions(directory).get(folder.version) is None  # not a version yet
    return folder.version


def break_off(directory, error):
    with new_version(directory) as folder:
        (folder.path / "half").write_text("half")
        raise error


def test_versions_count_up_from_one_past_gaps_and_other_names(tmp_path):
    assert write(tmp_path / "a" / "b") == 1
    assert write(tmp_path / "a" / "b") == 2
    assert write(tmp_path / "a" / "b", 10) == 10
    for name in ("010", "x", "-3", ".writing-12-old", "٣"):
        (tmp_path / "a" / "b" / name).mkdir()
    (tmp_path / "a" / "b" / "99").write_text("a file is no version")
    assert write(tmp_path / "a" / "b") == 11
    assert list(list_versions(tmp_path / "a" / "b")) == [1, 2, 10, 11]


def test_a_failure_leaves_nothing(tmp_path):
    with pytest.raises(RuntimeError):
        break_off(tmp_path / "new" / "name", RuntimeError)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_the_earlier_versions(tmp_path):
    write(tmp_path / "name")
    with pytest.raises(KeyboardInterrupt):
        break_off(tmp_path / "name", KeyboardInterrupt)
    assert [path.name for path in (tmp_path / "name").iterdir()] == ["1"]


@pytest.mark.parametrize("version", [0, -1, True, "3"])
def test_a_version_is_a_positive_integer(tmp_path, version):
    with pytest.raises(CanonError, match="integer of at least 1"):
        write(tmp_path, version)


def test_an_existing_version_is_not_replaced(tmp_path):
    write(tmp_path, 4)
    with pytest.raises(CanonError, match=r"Version 4 of .* exists: leave the version out, or give one above 4"):
        write(tmp_path, 4)


def test_a_version_that_appears_meanwhile_is_not_replaced(tmp_path):
    with pytest.raises(CanonError, match="exists"), new_version(tmp_path):
        (tmp_path / "1").mkdir()
    assert [path.name for path in tmp_path.iterdir()] == ["1"]


def test_a_file_in_the_way(tmp_path):
    (tmp_path / "name").write_text("a file")
    with pytest.raises(CanonError, match="cannot be written"):
        write(tmp_path / "name")
