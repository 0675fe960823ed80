"""A text in the form of the Bible's, made here: tests with it need no package of Debian's."""

import numpy as np

BOOKS = ("Ge", "Exo", "Lev", "1Sm")


def small_bible() -> str:
    """Verses of four books with words of their own; the first book is the longest, and some verses stand in several chapters."""
    generator, lines = np.random.default_rng(4), []
    for number, book in enumerate(BOOKS):
        words = ["".join(generator.choice(list("abcdefghiklmnoprstu"), size=6)) for _ in range(60)]
        for chapter in range(1, 31 - 3 * number):
            lines += [f"{book}{chapter}:{verse} {' '.join(generator.choice(words, size=12))}." for verse in range(1, 9)]
            lines.append(f"{book}{chapter}:9 And it was so in {chapter % 7}.")
    return "\n".join(lines) + "\n"
