"""Recipes: one TOML file each, named as `training.run` takes them."""
