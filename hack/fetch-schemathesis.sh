#!/bin/sh
# Puts Schemathesis, which holds the lease API against its own description, into Gatehouse's
# cache directory, with what it needs.
set -eu
. "$(dirname "$0")/wheels.sh"

wheels schemathesis -m schemathesis.cli --version
