from pathlib import Path

import pytest
from PIL import Image

LOOKED_AT = ("test_figures", "test_report", "test_running")


@pytest.fixture(scope="session", autouse=True)
def prepared_data(tmp_path_factory):
    """Data are prepared in a folder of the session, not in the home of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERAS_CANON_DATA", str(tmp_path_factory.mktemp("prepared")))
        yield


@pytest.fixture(scope="module", autouse=True)
def quick_pictures(request):
    """The pictures of a report take a third of a small run; outside of the tests that look at them they are a dot."""

    def dot(*arguments, **options):
        Image.new("RGB", (4, 4)).save(next(item for item in arguments if isinstance(item, Path)))

    with pytest.MonkeyPatch.context() as patch:
        if Path(request.module.__file__).stem not in LOOKED_AT:
            for name in ("draw_confusion", "draw_contact_sheet", "draw_curves"):
                patch.setattr(f"keras_canon.training.report.{name}", dot)
        yield
