#!/usr/bin/env python3
"""Picks which inputs that fuzzing found go into the repository as seeds: few and small, with as much coverage as that
allows. Run by `tools/fuzz.sh TARGET seeds`.

Usage: fuzz_seeds.py CONTROL-FILE SEEDS-FOLDER
The control file is one of libFuzzer's set cover merge, without counters: the edges that each input covers.
"""

import re
import sys
from pathlib import Path

MAX_FILES = 100
MAX_BYTES = 64 << 10


def main(control: Path, seeds: Path) -> None:
    lines = control.read_text().splitlines()
    count = int(lines[0])
    files = [Path(name) for name in lines[2 : 2 + count]]
    edges: dict[Path, set[str]] = {}
    for line in lines[2 + count :]:
        kind, index, *values = line.split()
        if kind == "FT":
            edges[files[int(index)]] = set(values)

    # Inputs with a name of their own stay. The name that libFuzzer gives is the SHA-1 of the content.
    kept = [f for f in seeds.iterdir() if not re.fullmatch("[0-9a-f]{40}", f.name)]
    left = MAX_FILES - len(kept), MAX_BYTES - sum(f.stat().st_size for f in kept)
    covered: set[str] = set()
    for f in kept:
        covered |= edges.pop(f, set())
    picked = []
    start = len(covered)
    size = {f: f.stat().st_size for f in edges}
    while left[0] > 0:
        fitting = [f for f in edges if size[f] <= left[1]]
        best = max(fitting, key=lambda f: (len(edges[f] - covered), -size[f], f.name), default=None)
        if best is None or not edges[best] - covered:
            break
        picked.append((best, best.read_bytes()))
        covered |= edges.pop(best)
        left = left[0] - 1, left[1] - size[best]
    for f in seeds.iterdir():
        if f not in kept:
            f.unlink()
    for f, content in picked:
        (seeds / f.name).write_bytes(content)
    every = covered.union(*edges.values())
    print(
        f"{seeds}: {len(kept)} inputs with {start} edges, {len(picked)} picked: {len(covered)} of {len(every)} edges",
        file=sys.stderr,
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
