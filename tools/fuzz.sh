#!/usr/bin/env bash
# Coverage-guided fuzzing on stable Rust. libFuzzer comes with the crate libfuzzer-sys; a C++ compiler builds it.
#
#   tools/fuzz.sh TARGET|all SECONDS [OPTION…]   fuzz; options go to libFuzzer
#   tools/fuzz.sh TARGET reproduce FILE…         run a target once on each file
#   tools/fuzz.sh TARGET minimize                reduce the found corpus to what adds coverage to the seeds
#   tools/fuzz.sh TARGET seeds                   pick from the found corpus the few inputs that become seeds
#
# Inputs: fuzz/seeds/TARGET (in the repository) and fuzz/corpus/TARGET (found by earlier runs here). A finding is
# saved in fuzz/artifacts/TARGET. Exit codes: 0 nothing found, 1 a finding, 2 usage, environment
# or a run that was interrupted.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
  exit 2
}
say() { printf 'fuzz: %s\n' "$*" >&2; }

[ $# -ge 2 ] || usage
what=$1 how=$2
shift 2
all=()
for file in fuzz/fuzz_targets/*.rs; do all+=("$(basename "$file" .rs)"); done
if [ "$what" = all ]; then targets=("${all[@]}"); else targets=("$what"); fi
case " ${all[*]} " in
  *" ${targets[0]} "*) ;;
  *) say "no target $what; there are: ${all[*]}"; exit 2 ;;
esac
case $how in
  reproduce) [ $# -gt 0 ] && [ "$what" != all ] || usage ;;
  minimize | seeds) ;;
  *[!0-9]* | 0) usage ;;
esac

# What a compiler's own fuzzing mode would set: counters for every edge, and the operands of comparisons.
flags="-Cpasses=sancov-module --cfg fuzzing -Cllvm-args=-simplifycfg-branch-fold-threshold=0"
for flag in level=4 inline-8bit-counters pc-table trace-compares; do
  flags+=" -Cllvm-args=-sanitizer-coverage-$flag"
done
# Naming the target keeps the flags away from build scripts, and the own folder keeps other builds as they are.
host=$(rustc -vV | sed -n 's/^host: //p')
dir=${CARGO_TARGET_DIR:-target}/fuzz
# shellcheck disable=SC2086
RUSTFLAGS=$flags cargo build --package planezip-fuzz --bins --features fuzzer --profile fuzz \
  --target "$host" --target-dir "$dir" ${CARGO_FLAGS:-} >&2 || exit 2

# libFuzzer's exit code when a signal ends the run: neither a finding nor a completed run.
readonly INTERRUPTED=72
limits=(-rss_limit_mb=512 -timeout=20)
failed=()
for target in "${targets[@]}"; do
  binary=$dir/$host/fuzz/$target
  seeds=fuzz/seeds/$target corpus=fuzz/corpus/$target artifacts=fuzz/artifacts/$target
  mkdir -p "$corpus" "$artifacts"
  case $how in
    reproduce)
      "$binary" "${limits[@]}" -artifact_prefix="$artifacts/" "$@" || failed+=("$target")
      ;;
    minimize)
      rm -rf "$corpus.old"
      mv "$corpus" "$corpus.old"
      mkdir "$corpus"
      "$binary" "${limits[@]}" -artifact_prefix="$artifacts/" -merge=1 "$@" "$corpus" "$seeds" "$corpus.old" \
        || failed+=("$target")
      ;;
    seeds)
      merged=$(mktemp -d)
      mkdir "$merged/out"
      if "$binary" "${limits[@]}" -artifact_prefix="$artifacts/" -set_cover_merge=1 -use_counters=0 \
        -merge_control_file="$merged/control" "$@" "$merged/out" "$seeds" "$corpus"; then
        tools/fuzz_seeds.py "$merged/control" "$seeds"
      else
        failed+=("$target")
      fi
      rm -rf "$merged"
      ;;
    *)
      say "$target for $how s"
      status=0
      "$binary" "${limits[@]}" -artifact_prefix="$artifacts/" -seed=1 -max_total_time="$how" -max_len=4096 \
        -print_final_stats=1 "$@" "$corpus" "$seeds" || status=$?
      if [ $status -eq $INTERRUPTED ]; then
        say "$target: interrupted by a signal before its $how s were over; what was found is kept in $corpus"
        exit 2
      fi
      if [ $status -ne 0 ]; then
        failed+=("$target")
        found=$(find "$artifacts" -type f -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d ' ' -f 2-)
        say "$target: failed with libFuzzer's code $status; the input is ${found:-not saved}"
        if [ -n "$found" ]; then
          say "once more: tools/fuzz.sh $target reproduce $found"
          say "as a test: cp $found fuzz/seeds/$target/ && cargo test --package planezip-fuzz"
        fi
      fi
      ;;
  esac
done
if [ ${#failed[@]} -gt 0 ]; then
  say "failed: ${failed[*]}"
  exit 1
fi
