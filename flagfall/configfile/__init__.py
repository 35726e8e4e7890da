"""Configuration files: TOML and JSON, with every problem reported by its line."""
