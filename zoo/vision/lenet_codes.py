"""Target codes of LeNet-5's output layer: stylised 7 x 12 drawings of the digits, then random signs."""

import numpy as np

# Fig. 3 of the paper shows such drawings for the printable ASCII characters; these are drawn anew. '#' is +1, '.' is -1.
_DIGITS = """
..###.. ...#... .#####. .#####. ....##. ####### ..####. ####### .#####. .#####.
.#####. ..##... ##...## ##...## ...###. ##..... .##.... ##...## ##...## ##...##
##...## .###... .....## .....## ..####. ##..... ##..... .....## ##...## ##...##
##...## ...#... .....## .....## .##.##. ##..... ##..... ....##. ##...## ##...##
##...## ...#... .....## .....## ##..##. ######. ######. ....##. ##...## ##...##
##...## ...#... ....##. ..####. ##..##. ##...## ##...## ...##.. .#####. .######
##...## ...#... ...##.. ..####. ####### .....## ##...## ...##.. ##...## .....##
##...## ...#... ..##... .....## ....##. .....## ##...## ..##... ##...## .....##
##...## ...#... .##.... .....## ....##. .....## ##...## ..##... ##...## .....##
##...## ...#... ##..... .....## ....##. .....## ##...## .##.... ##...## .....##
.#####. ...#... ##..... ##...## ....##. ##...## .##.##. .##.... ##...## ....##.
..###.. .#####. ####### .#####. ....##. .#####. ..###.. .##.... .#####. .####..
"""


def lenet_codes(num_classes: int) -> np.ndarray:
    """Return one code of 84 signs for each class.

    The first ten are the drawings of the digits 0 to 9, read row by row. Further classes have signs drawn at random
    with equal probabilities, the choice that section II.B names as the alternative; the draw is fixed.

    Args:
        num_classes: number of codes, at least 1.

    Returns:
        float32 array (num_classes, 84) of -1 and +1.
    """
    columns = zip(*(line.split() for line in _DIGITS.split("\n") if line), strict=True)
    drawn = np.array([[1.0 if mark == "#" else -1.0 for mark in "".join(rows)] for rows in columns], "float32")
    random = np.random.RandomState(1998).choice([-1.0, 1.0], (max(num_classes - len(drawn), 0), drawn.shape[1]))
    return np.concatenate([drawn, random.astype("float32")])[:num_classes]
