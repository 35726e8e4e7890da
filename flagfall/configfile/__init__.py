"""TOML and JSON files that people write: reading, conversion to values, and problems with their lines."""
