#!/bin/sh
# Runs tests on a machine that has a GPU and no Go.
#
#   tests/gpu/gpu.sh build [package ...]   here: test binaries without cgo, under out/gpu
#   tests/gpu/gpu.sh run [flag ...]        there, in the same tree with out/gpu: runs them all
#
# build takes package patterns, ./backend/cuda/... if none are given, and GOARCH
# for another architecture than amd64. run takes the flags of test binaries, such
# as -test.v, -test.run=Launch or -test.bench=. ; each runs in its package's
# directory, as go test does. It fails if one fails, after running the others.
set -eu
cd "$(dirname "$0")/../.."
root=$PWD

build() {
  [ $# -gt 0 ] || set -- ./backend/cuda/...
  rm -rf out/gpu
  module=$(go list -m)
  export CGO_ENABLED=0 GOOS=linux GOARCH="${GOARCH:-amd64}"
  for package in $(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' "$@"); do
    go test -c -ldflags='-s -w' -o "out/gpu/${package#"$module"/}.test" "$package"
  done
  find out/gpu -name '*.test'
}

run() {
  status=0
  for binary in $(find out/gpu -name '*.test' | sort); do
    directory=${binary#out/gpu/}
    directory=${directory%.test}
    echo "== $directory"
    (cd "$directory" && "$root/$binary" "$@") || status=1
  done
  return $status
}

command=${1:-}
[ $# -eq 0 ] || shift
case $command in
build | run) "$command" "$@" ;;
*)
  sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
  exit 2
  ;;
esac
