"""`canon explain`: why a trained model answers as it does, as a picture."""

import contextlib
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from ..zoo.errors import CanonError, unknown_name
from .console import bold, load_tensorflow, plain_console


def explain(
    model: Annotated[Path, typer.Argument(help="Folder of a run, or a .keras file.")],
    image: Annotated[Path | None, typer.Argument(help="Image file: JPEG, PNG, GIF, BMP or WebP.", show_default=False)] = None,
    text: Annotated[str | None, typer.Option(help="For a model of text: a text to look at, or to translate.", show_default=False)] = None,
    target: Annotated[str | None, typer.Option(help="Class to explain (default: the most probable one).", show_default=False)] = None,
    layer: Annotated[str | None, typer.Option(help="Layer for Grad-CAM (default: the last with positions).", show_default=False)] = None,
    steps: Annotated[int, typer.Option(min=1, help="Points of the integral of integrated gradients.")] = 64,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="PNG to write (default: NAME_explained.png).", show_default=False)] = None,
) -> None:
    """Draw where a trained model looks in an image (Grad-CAM, integrated gradients, attention) or in a text (attention, next tokens).

    Example: canon explain runs/photos cat.jpg --target dog
    """
    if (image is None) == (text is None):
        raise CanonError("Give an image file, or a text with --text.")
    stem = Path("text") if image is None else image
    out = stem.with_name(f"{stem.stem}_explained.png") if out is None else out
    if out.suffix.lower() != ".png":
        raise CanonError(f"--out must end in .png, got {str(out)!r}.")
    load_tensorflow()
    if image is None:
        from .explain_text import explain_text

        explain_text(model, text or "", out)
        return
    from ..training.evaluation import load_trained
    from ..zoo.explain import attention_maps, attention_rollout, grad_cam, integrated_gradients
    from ..zoo.explain_pictures import as_seen, draw_explanations
    from ..zoo.labels import decode
    from ..zoo.preprocessing import preprocess, read_image
    from ..zoo.spatial_maps import patch_grid

    trained, _ = load_trained(model)
    prepared = preprocess(image, trained)
    labels = trained.record.labels or tuple(str(number) for number in range(trained.record.num_classes))
    if target is not None and target not in labels:
        raise unknown_name("class", target, labels)
    logits = trained(prepared, training=False)
    (best, probability), *_ = decode(logits, trained, top=1)[0]
    chosen = labels.index(best if target is None else target)
    gradients = integrated_gradients(trained, prepared, chosen, steps=steps)
    heats = {"Grad-CAM": grad_cam(trained, prepared, chosen, layer=layer)[0], "integrated gradients": gradients.heat[0]}
    with contextlib.suppress(CanonError):  # which says that it is no Transformer
        heats["attention"] = attention_rollout(attention_maps(trained, prepared), patch_grid(trained))[0]
    out.parent.mkdir(parents=True, exist_ok=True)
    preprocessing = trained.record.preprocessing
    assert preprocessing is not None  # preprocess refuses models without
    draw_explanations(as_seen(read_image(image), preprocessing), heats, out, title=f"{labels[chosen]} in {image.name}")
    table = Table.grid(padding=(0, 2))
    table.add_row("most probable", bold(best, f" ({probability:.4f})"))
    table.add_row("explained", f"{labels[chosen]}: its logit is {gradients.change[0]:+.4f} against a black picture's")
    table.add_row("unexplained", f"{gradients.gap[0]:+.2g} of that by integrated gradients with {steps} steps")
    table.add_row("picture", str(out))
    plain_console().print(table)
