"""Transformers, one family a file."""
