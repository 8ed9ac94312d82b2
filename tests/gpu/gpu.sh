#!/bin/sh
# Runs tests on a machine that has a GPU and no Go.
#
#   tests/gpu/gpu.sh build [package ...]   here: test binaries and programs without
#                                          cgo, under out/gpu
#   tests/gpu/gpu.sh pack                  here: out/gpu as one small file, out/gpu.tar.xz
#   tests/gpu/gpu.sh run [flag ...]        there, in the same tree with out/gpu or that
#                                          file: runs all test binaries
#   tests/gpu/gpu.sh check [step ...]      there: what docs/gpu-tests.md records, a few
#                                          lines a step; under out/gpu/log are the logs,
#                                          and in record.md the lines for its table
#
# build takes package patterns, those of all packages whose tests run on a GPU if none
# are given, and GOARCH for another architecture than amd64. run takes the flags of
# test binaries, such as -test.v, -test.run=Launch or -test.bench=. ; each runs in
# its package's directory, as go test does. It fails if one fails, after running the
# others.
#
# check has the steps
#   tests      every test binary but that of ./tests/conformance, -long
#   conformance
#              the tests of ./tests/conformance, each in a process of its own that may
#              take 40 s, JOBS (8) at once; one that failed runs again alone, and that
#              counts. CONFORMANCE has their flags (-kind cuda). The log,
#              conformance.txt, is for go run ./tests/conformance/report -record NAME
#   soak       64 goroutines with two streams each, for SOAK (3m)
#   programs   the examples on the GPU, digits without one too
#   memcheck   compute-sanitizer over the operators' tests
#   racecheck  compute-sanitizer over reductions, scans and kernels written by hand
# all of them if none is named. A step that takes longer than LIMIT (540 s) fails. The
# last two deal their tests to SHARDS (8) processes that run at once.
set -eu
cd "$(dirname "$0")/../.."
root=$PWD
log=$root/out/gpu/log
packages='./backend/cuda/... ./runtime/index ./optim ./compile ./profile ./dist ./tests/gpu ./tests/edges ./tests/conformance'
examples='threedevices streams timing factories fftcache graphs'
programs='./examples/digits ./examples/tf32 ./examples/devices ./cmd/bench ./cmd/several'

build() {
  # shellcheck disable=SC2086 # packages are words
  [ $# -gt 0 ] || set -- $packages
  rm -rf out/gpu
  module=$(go list -m)
  export CGO_ENABLED=0 GOOS=linux GOARCH="${GOARCH:-amd64}"
  for package in $(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' "$@"); do
    go test -c -ldflags='-s -w' -o "out/gpu/${package#"$module"/}.test" "$package"
  done
  for program in $programs; do
    go build -ldflags='-s -w' -o "out/gpu/bin/${program##*/}" "$program"
  done
  { git rev-parse --short HEAD && git diff --quiet HEAD || echo ', changed'; } | paste -sd'\0' - >out/gpu/version
  find out/gpu -type f -exec du -k {} +
}

# pack finds what binaries have in common, however far apart: most of each is the
# same kernels.
pack() {
  tar c -C out/gpu --exclude=./log . | xz -T1 --lzma2=preset=3,dict=384MiB,mf=hc4 >out/gpu.tar.xz
  du -k out/gpu.tar.xz
}

# unpack undoes pack where it has not been undone.
unpack() {
  [ ! -d out/gpu ] || return 0
  mkdir -p out/gpu
  if command -v xz >/dev/null; then
    xz -dc out/gpu.tar.xz | tar x -C out/gpu
  else
    python3 -c 'import tarfile; tarfile.open("out/gpu.tar.xz").extractall("out/gpu", filter="fully_trusted")'
  fi
}

run() {
  unpack
  status=0
  for binary in $(find out/gpu -name '*.test' | sort); do
    directory=${binary#out/gpu/}
    directory=${directory%.test}
    echo "== $directory"
    kind=
    case $directory in dist | tests/conformance) kind='-kind cuda' ;; esac
    # shellcheck disable=SC2086 # kind is words
    (cd "$directory" && "$root/$binary" $kind "$@") || status=1
  done
  return $status
}

# count FILE prints how many tests passed, failed and were skipped.
count() {
  for word in PASS FAIL SKIP; do
    printf '%s ' "$(grep -c "^ *--- $word" "$1" || true)"
  done
}

# tried NAME COMMAND... runs a command in the current directory with its output in
# a log, and prints its verdict.
tried() {
  name=$1
  shift
  begin=$(date +%s)
  result=0
  timeout "${LIMIT:-540}" "$@" >"$(logged "$name")" 2>&1 || result=$?
  verdict "$name" $result $(($(date +%s) - begin))
}

# logged NAME prints the file of a log.
logged() { echo "$log/$(echo "$1" | tr '/ ' '__').txt"; }

# verdict NAME STATUS SECONDS prints a line on what is in a log: ok or FAILED, the
# tests passed, failed and skipped, the seconds. What failed is shown, the end of it.
verdict() {
  file=$(logged "$1")
  name=$1
  result=$2
  word=ok
  [ "$result" -eq 0 ] || word=FAILED
  # shellcheck disable=SC2046 # three words and one
  set -- $(count "$file") "$3"
  printf '%-7s%-34s%6s passed %3s failed %3s skipped %5s s\n' "$word" "$name" "$@"
  echo "| | | $name: $word | $1 | $2 | $3 | $4 s |" >>"$log/record.md"
  [ "$result" -eq 0 ] && return 0
  echo "  exit status $result"
  failures "$file" | cut -c 1-240 | tail -n "${SHOW:-25}"
  return 1
}

# failures FILE prints what tests that failed said, and what nobody said for a test.
failures() {
  awk '
    /^ *=== (RUN|NAME|CONT|PAUSE)/ { test = $3; next }
    /^ *--- (PASS|SKIP)/ || /^(PASS|ok )/ { next }
    /^ *--- FAIL/ { printf "%s%s\n", said[$3], $0; said[$3] = test = ""; next }
    /^(panic|fatal error|SIG|unexpected fault)/ { test = "" }
    /^=========/ || test == "" { print; next }
    { said[test] = said[test] $0 "\n" }
  ' "$1"
}

step_machine() {
  sanitizer=$(compute-sanitizer --version 2>/dev/null | tail -n 1 || true)
  torch=$(python3 -c 'import torch; print(torch.__version__)' 2>/dev/null || true)
  while IFS='|' read -r field text; do
    printf '%-18s%s\n' "$field" "$text"
    echo "$field: $text" >>"$log/record.md"
  done <<END
version|$(cat out/gpu/version)
device|$(nvidia-smi --query-gpu=name,compute_cap,memory.total --format=csv,noheader | paste -sd';' -)
driver|$(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -n 1), CUDA $(nvidia-smi | sed -n 's/.*CUDA Version: *\([0-9.]*\).*/\1/p')
system|$(uname -sr), $(nproc) processors
compute-sanitizer|${sanitizer:-none}
PyTorch|${torch:-none}
END
}

step_tests() {
  bad=0
  for binary in $(find out/gpu -name '*.test' | sort); do
    package=${binary#out/gpu/}
    package=${package%.test}
    [ "$package" != tests/conformance ] || continue
    flags=
    [ "$package" != tests/gpu ] || flags='-long -test.parallel=64'
    [ "$package" != dist ] || flags='-kind cuda'
    # shellcheck disable=SC2086 # flags are words
    (cd "$package" && tried "$package" "$root/$binary" -test.v $flags) || bad=1
  done
  return $bad
}

# conform TEST runs one conformance test in the current directory, with its output in
# a log of its own. A process that did not end well counts as the test's failure.
conform() {
  one=$log/conformance/$1.txt
  began=$(date +%s)
  result=0
  # shellcheck disable=SC2086 # flags are words
  timeout -k 5 40 "$root/out/gpu/tests/conformance.test" -test.v ${CONFORMANCE:--kind cuda} -test.run "^$1\$" >"$one" 2>&1 </dev/null || result=$?
  if [ $result -ne 0 ] && ! grep -q "^--- FAIL: $1 " "$one"; then
    sed -i "/^--- [A-Z]*: $1 /d" "$one"
    printf '\nthe process ended with status %s\n--- FAIL: %s (%s.00s)\n' $result "$1" $(($(date +%s) - began)) >>"$one"
  fi
}

# conformed TEST says whether a test ran and did not fail.
conformed() { grep -qE "^--- (PASS|SKIP): $1 " "$log/conformance/$1.txt"; }

step_conformance() {
  binary=$root/out/gpu/tests/conformance.test
  [ -x "$binary" ] || { echo 'build has left out ./tests/conformance'; return 1; }
  rm -rf "$log/conformance"
  mkdir -p "$log/conformance"
  begin=$(date +%s)
  list=$("$binary" -test.list '^Test' | grep '^Test')
  (
    cd tests/conformance
    # The tests are dealt out; each process goes through its part.
    i=0
    while [ $i -lt "${JOBS:-8}" ]; do
      echo "$list" | awk "NR % ${JOBS:-8} == $i" | while read -r test; do conform "$test"; done &
      i=$((i + 1))
    done
    wait
    # Tests look at the memory of the whole device, and at times.
    for test in $list; do
      ! conformed "$test" || continue
      [ $(($(date +%s) - begin)) -lt "${LIMIT:-540}" ] || continue
      cp "$log/conformance/$test.txt" "$log/conformance/$test.first"
      conform "$test"
    done
  )
  result=0
  for test in $list; do
    cat "$log/conformance/$test.txt"
    conformed "$test" || result=1
  done >"$(logged conformance)"
  for first in "$log"/conformance/*.first; do
    [ -e "$first" ] || continue
    test=$(basename "$first" .first)
    ! conformed "$test" || echo "  failed beside others, passed alone: $test"
  done
  verdict conformance $result $(($(date +%s) - begin))
}

step_soak() {
  (cd tests/gpu && tried 'soak' "$root/out/gpu/tests/gpu.test" -test.v -test.run='^TestManyStreams$' -test.timeout=1h -soak="${SOAK:-3m}")
  grep -h 'operators and copies' "$log/soak.txt"
}

step_programs() {
  bad=0
  mkdir -p "$log/digits"
  libraries=$(ldd out/gpu/bin/digits 2>&1 | grep -iE 'cuda|cublas|cudnn|cufft|nvrtc|nccl' || true)
  echo "ldd of digits names of CUDA: ${libraries:-nothing}"
  [ -z "$libraries" ] || bad=1
  tried 'digits on the GPU' out/gpu/bin/digits -device cuda -out "$log/digits" || bad=1
  tried 'digits on the CPU' out/gpu/bin/digits -device cpu -out "$log/digits" || bad=1
  tried 'digits, no GPU to see' env CUDA_VISIBLE_DEVICES= out/gpu/bin/digits -epochs 2 -out "$log/digits" || bad=1
  grep -hE '^trained|peak memory|^test accuracy|, on ' "$log"/digits_*.txt || true
  tried 'tf32' out/gpu/bin/tf32 || bad=1
  cat "$log/tf32.txt"
  tried 'agnostic' out/gpu/bin/devices agnostic || bad=1
  gpus=$(nvidia-smi -L | grep -c '^GPU')
  [ -z "${CUDA_VISIBLE_DEVICES+set}" ] || gpus=$(echo "$CUDA_VISIBLE_DEVICES" | awk -F, '{ print NF }')
  for example in $examples; do
    if [ "$example" = threedevices ] && [ "$gpus" -lt 2 ]; then
      echo "threedevices wants two GPUs at least, there is $gpus"
      continue
    fi
    tried "$example" out/gpu/bin/devices "$example" -device cuda || bad=1
  done
  return $bad
}

# sanitized TOOL TESTS FLAG... runs tests of tests/gpu under a tool, in SHARDS
# processes at once, each with its part of the operators, and joins their logs. Tests
# that did not end are counted and named: the clock stopped them, or the tool did.
sanitized() {
  tool=$1
  tests=$2
  shift 2
  shards=${SHARDS:-8}
  rm -f "$log/$tool".*.txt
  begin=$(date +%s)
  pids=
  i=0
  while [ $i -lt "$shards" ]; do
    (cd tests/gpu && exec timeout "${LIMIT:-540}" compute-sanitizer --tool "$tool" --error-exitcode 9 --print-limit 20 --target-processes all \
      "$root/out/gpu/tests/gpu.test" -test.v=test2json -test.timeout=1h -test.run="$tests" -differences=false -programs=20 -shard=$i/"$shards" "$@") \
      >"$log/$tool.$i.txt" 2>&1 &
    pids="$pids $!"
    i=$((i + 1))
  done
  result=0
  ended=
  for pid in $pids; do
    status=0
    wait "$pid" || status=$?
    ended="$ended $status"
    [ $status -eq 0 ] || result=$status
  done
  # test2json shows a test's end at once, with a mark before the line.
  cat "$log/$tool".*.txt | tr -d '\026' >"$(logged "$tool")"
  verdict "$tool" $result $(($(date +%s) - begin)) || echo "  exit statuses of $shards processes:$ended"
  grep -h SUMMARY "$(logged "$tool")" | sort | uniq -c || true
  awk '/^=== RUN.*\// { open[$3] } /^ *--- / { delete open[$3] } END { for (test in open) print test }' "$(logged "$tool")" |
    sort | paste -sd' ' - | awk 'NF { printf "  %d did not end: %s\n", NF, $0 }' | cut -c 1-2000
  return $result
}

step_memcheck() {
  sanitized memcheck '^Test(Elementwise|Reductions|Scans|Kernels|Views|Compositions|Programs|Large)$' -test.parallel=2
}

step_racecheck() { sanitized racecheck '^Test(Reductions|Scans|Kernels|Large)$' -test.parallel=1; }

check() {
  [ $# -gt 0 ] || set -- tests conformance soak programs memcheck racecheck
  unpack
  mkdir -p "$log"
  : >"$log/record.md"
  step_machine
  printf '\n| %s, %s | %s | | | | | |\n' "$(date -u +%F)" "$(cat out/gpu/version)" "$(nvidia-smi -L | wc -l)" >>"$log/record.md"
  failed=
  for step; do
    echo "== $step"
    "step_$step" || failed="$failed $step"
  done
  echo "== steps that failed:${failed:- none}"
  [ -z "$failed" ]
}

command=${1:-}
[ $# -eq 0 ] || shift
case $command in
build | pack | run | check) "$command" "$@" ;;
*)
  sed -n '2,/^set/s/^# \{0,1\}//p' "$0" | sed '$d' >&2
  exit 2
  ;;
esac
