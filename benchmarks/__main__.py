"""`python -m benchmarks SUITE [--quick]`: measure, and print a table."""

from __future__ import annotations

import argparse

from benchmarks import gvgai, hosts, kernel, langroom, round1, stops, tournament, vgdl

SUITES = {
    "kernel": kernel.main,
    "hosts": hosts.main,
    "round1": round1.main,
    "langroom": langroom.main,
    "gvgai": gvgai.main,
    "vgdl": vgdl.main,
    "tournament": tournament.main,
    "stops": stops.main,
}


def main() -> None:
    """Run the suites named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("suite", choices=SUITES, nargs="+")
    parser.add_argument("--quick", action="store_true", help="a tenth of the work, for trials")
    parser.add_argument("--only", default="", help="measure only rows whose name contains this text")
    arguments = parser.parse_args()
    for suite in arguments.suite:
        SUITES[suite](quick=arguments.quick, only=arguments.only)


if __name__ == "__main__":
    main()
