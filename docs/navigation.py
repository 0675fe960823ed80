"""The navigation: which page stands where. Every page of the folder gets a place, so that none is forgotten."""

_FIRST = (
    ("Start", ("index.md", "start.md", "install.md", "comparison.md")),
    ("Guides", ("guides/import.md", "guides/finetune.md", "guides/serve.md", "recipes.md", "notebooks.md", "add-a-model.md")),
)
# what each is about, in the order in which they stand
TOPICS = {
    "transfer.md": "A trained network learns classes of your own: what is frozen, which rates, what it gains.",
    "few-labels.md": "Data of your own, features, a teacher, pictures without labels, and pre-training.",
    "tuning.md": "Search for better values of a recipe, and compare runs.",
    "distribution.md": "Several devices and machines: TF_CONFIG, Slurm, Kubernetes, Ray, TPU.",
    "recurrent.md": "Elman's network to DeepSpeech 2: padding, training, reading and writing.",
    "transformers.md": "The Transformer, BERT, GPT: weights, writing, training, attention.",
    "serving.md": "The embedded server: versions, batching, limits, safety, other formats.",
}


def navigation(pages: set[str], rooms: dict[str, list[str]], reference: list[str]) -> list:
    """The navigation of these pages.

    Args:
        pages: all of the site.
        rooms: families' pages by the room of the zoo in which they are, in their order.
        reference: pages of the reference, in their order.
    """
    left = set(pages)

    def take(chosen) -> list[str]:
        found = [page for page in chosen if page in left]
        left.difference_update(found)
        return found

    def under(folder: str) -> list[str]:
        return take(sorted((page for page in left if page.startswith(folder)), key=lambda page: (not page.endswith("index.md"), page)))

    nav = [{title: take(chosen)} for title, chosen in _FIRST]
    models = [*take(["models/index.md", "results.md"]), *({room: take(found)} for room, found in rooms.items())]
    models += under("models/")
    last = [{"Reference": take(reference) + under("reference/")}, {"Decisions": under("decisions/")}]
    performance = take(["performance.md", *sorted(page for page in left if page.endswith("-performance.md"))])
    topics = take(["topics/index.md", *TOPICS])
    return [*nav, {"Models": models}, {"Topics": topics + take(sorted(left))}, {"Performance": performance}, *last]
