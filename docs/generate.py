"""Write the drawings of the site: a family's smallest row, and every recipe's learning rate.

usage: python docs/generate.py [NAME ...]     names of models and recipes; none for all
"""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from family_pages import DRAWINGS, families

from keras_canon import training, zoo
from keras_canon.training.schedule_picture import draw_schedule


def main(names: list[str]) -> None:
    """Write the drawings of these, or of all."""
    for family, rows in families().items():
        if not names or rows[0].name in names:
            zoo.draw(rows[0].name, DRAWINGS / f"{family}.svg")
            print(f"{family}: {rows[0].name}", flush=True)
    for name in training.list_recipes():
        if not names or name in names:
            draw_schedule(name, DRAWINGS / "schedules" / f"{name}.svg")
            print(f"learning rate of {name}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
