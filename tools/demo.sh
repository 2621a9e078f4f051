#!/usr/bin/env bash
# The demonstration: compression figures of the sample activations, the RTL proven on them in both directions, the
# area. Usage: tools/demo.sh PATH_TO_PLANEZIP. Exit code 0 only if every part held.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
planezip=$1
samples=(tests/data/sample/*.safetensors)

failed=()
part() {
  local name=$1
  shift
  printf '\n== %s\n$ planezip %s\n' "$name" "$*"
  "$planezip" "$@" || failed+=("$name")
}

part "compression" stat tests/data/sample
part "RTL against golden codec and cycle model" cosim "${samples[@]}" --direction both
part "area" area

echo
if [ ${#failed[@]} -gt 0 ]; then
  (IFS=,; echo "VERDICT: failed: ${failed[*]}")
  exit 1
fi
echo "VERDICT: all held: lossless, RTL bit-exact and cycle-exact, every cell of the area accounted for"
