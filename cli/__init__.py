"""The `canon` command."""
