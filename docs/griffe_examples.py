"""Shows the examples of docstrings as code: griffe knows the heading "Examples:", this project writes "Example:"."""

import griffe


class Examples(griffe.Extension):
    """Renames the section in every docstring that is read."""

    def on_instance(self, *, obj: griffe.Object, **kwargs) -> None:
        """Change the docstring of one object."""
        if obj.docstring is not None:
            obj.docstring.value = obj.docstring.value.replace("\nExample:\n", "\nExamples:\n")
