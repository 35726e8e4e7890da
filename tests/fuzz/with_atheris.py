"""The same decoders under atheris, which looks for new ways through the code (pip install atheris).

python -m tests.fuzz.with_atheris "wire as a stream" -max_total_time=60
python -m tests.fuzz.with_atheris "wire as a stream" crash-0123456789abcdef    # once more what it found
"""

# ruff: noqa: T201 - a program

from __future__ import annotations

import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["flagfall", "wsproto", "h11"]):
    from tests.fuzz.decoders import DECODERS


def main() -> None:
    """Throw noise at the decoder that is named."""
    name = sys.argv.pop(1) if len(sys.argv) > 1 else ""
    if name not in DECODERS:
        print("name a decoder:", *DECODERS, sep="\n  ")
        raise SystemExit(2)
    decoder = DECODERS[name]

    def read(data: bytes) -> None:
        with suppress(*decoder.errors):
            decoder.read(data)

    with tempfile.TemporaryDirectory() as corpus:
        for number, data in enumerate(decoder.good):
            (Path(corpus) / str(number)).write_bytes(data)
        atheris.Setup([*sys.argv, corpus], read)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
