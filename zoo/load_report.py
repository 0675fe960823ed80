"""What happened to each array when weights were loaded."""

from dataclasses import dataclass

Shape = tuple[int, ...]


@dataclass(frozen=True)
class LoadReport:
    """The outcome of `zoo.load_weights`; arrays are named as the source and the model name them.

    Args:
        format: the format that the source was read as.
        loaded: (source name, our path, shape).
        adapted: (our path, source shape, our shape), arrays that were fitted by a stated rule (stem channels, position table).
        skipped: (our path, source shape, our shape), arrays of another shape that were left as they were.
        missing: (our path, shape), weights that the source does not have.
        unused: source names that went nowhere.
        notes: anything else that is worth knowing, one sentence each.
    """

    format: str
    loaded: tuple[tuple[str, str, Shape], ...] = ()
    adapted: tuple[tuple[str, Shape, Shape], ...] = ()
    skipped: tuple[tuple[str, Shape, Shape], ...] = ()
    missing: tuple[tuple[str, Shape], ...] = ()
    unused: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"{len(self.loaded)} arrays loaded from format {self.format!r}"]
        lines += [f"adapted: {path} {source} -> {ours}" for path, source, ours in self.adapted]
        lines += [f"skipped: {path} is {ours}, the source has {source}" for path, source, ours in self.skipped]
        lines += [f"missing: {path} {shape}" for path, shape in self.missing]
        lines += [f"unused: {name}" for name in self.unused]
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(lines)

    @property
    def skipped_layers(self) -> tuple[str, ...]:
        """Layers of which at least one array was skipped or missing, in the order of the model."""
        paths = [path for path, *_ in (*self.skipped, *self.missing)]
        return tuple(dict.fromkeys(path.split("/")[0] for path in paths))
