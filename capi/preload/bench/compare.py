"""Runs a command with the preload library and without, by turns, and compares the medians of what it prints:
lines of a name, nanoseconds of wall clock and nanoseconds of CPU.

    python3 compare.py LIBRARY ROUNDS COMMAND...
"""

import os
import statistics
import subprocess
import sys


def run(command, library):
    environment = dict(os.environ, **({"LD_PRELOAD": library} if library else {}))
    output = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    return [(name, float(wall), float(cpu)) for name, wall, cpu in map(str.split, output.splitlines())]


def main():
    library, rounds, command = os.path.abspath(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    figures = {}
    for _ in range(rounds):
        for which in (None, library):
            for name, wall, cpu in run(command, which):
                figures.setdefault(name, {}).setdefault(which, []).append((wall, cpu))
    print("| | C library: ns (CPU) | preload: ns (CPU) | ratio (CPU) |\n|---|---|---|---|")
    for name, runs in figures.items():
        without, with_it = ([statistics.median(column) for column in zip(*runs[which])] for which in (None, library))
        ratios = [b / a for a, b in zip(without, with_it)]
        print(f"| {name} | {without[0]:.0f} ({without[1]:.0f}) | {with_it[0]:.0f} ({with_it[1]:.0f}) "
              f"| {ratios[0]:.2f} ({ratios[1]:.2f}) |")


main()
