"""Measures flagfall beside a baseline, in the same run: `python -m benchmarks kernel`."""
