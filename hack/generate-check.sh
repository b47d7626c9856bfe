#!/usr/bin/env bash
# Fails when `go generate` would change a file, and leaves the change in place.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

sums() {
  find . \( -path ./.git -o -path ./bin -o -path ./demo \) -prune -o -type f -print0 | sort -z | xargs -0 sha256sum
}

before=$(mktemp) after=$(mktemp)
trap 'rm -f "$before" "$after"' EXIT
sums >"$before"
go generate ./...
sums >"$after"
if ! diff "$before" "$after" >&2; then
  echo "generated files were out of date and are now rewritten: review and commit them" >&2
  exit 1
fi
echo "generated files are fresh"
