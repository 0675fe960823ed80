"""Recurrent and convolutional sequence models, one family a file."""
