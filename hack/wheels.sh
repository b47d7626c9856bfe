# Sourced by scripts that put programs of Python into Gatehouse's cache directory: those
# that hack/NAME.txt pins by version and hash. Does nothing when all is there; safe to run
# twice at once; prints where it is.

# wheels NAME ARGUMENT... checks what was downloaded by python ARGUMENT....
wheels() {
	name="$1"
	shift
	python="${PYTHON:-python3}"
	pins="$(cd "$(dirname "$0")" && pwd)/${name}.txt"
	cache="${XDG_CACHE_HOME:-$HOME/.cache}/gatehouse/${name}"
	tmp=

	fail() {
		echo "fetch-${name}: $*" >&2
		exit 1
	}

	trap '[ -z "${tmp}" ] || rm -rf "${tmp}"' EXIT
	trap 'exit 1' HUP INT TERM

	command -v "${python}" >/dev/null ||
		fail "${python} not found: install Python 3.11 or newer with pip (Debian: apt-get install python3 python3-pip), or set \$PYTHON"
	there="${cache}/$("${python}" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')-$(sha256sum <"${pins}" | cut -c1-16)"
	[ ! -d "${there}" ] || { echo "${there} (already there)" && exit 0; }
	mkdir -p "${cache}"
	tmp="$(mktemp -d "${cache}/.fetch.XXXXXX")"
	# It installs into a directory alone, so an externally managed Python (PEP 668) allows it.
	"${python}" -m pip install --quiet --disable-pip-version-check --no-deps --no-cache-dir --no-compile \
		--only-binary=:all: --require-hashes --target "${tmp}/packages" --requirement "${pins}" >"${tmp}/log" 2>&1 || {
		cat "${tmp}/log" >&2
		fail "cannot install ${pins}: see the lines above; the wheels are for Linux/x86_64 and Python 3.11 to 3.14"
	}
	PYTHONPATH="${tmp}/packages" "${python}" -B "$@" >"${tmp}/log" 2>&1 || {
		cat "${tmp}/log" >&2
		fail "what was downloaded does not run here"
	}
	# A half-filled directory never has the final name; unless somebody else was first.
	mv -T "${tmp}/packages" "${there}" 2>/dev/null || [ -d "${there}" ] || fail "cannot make ${there}"
	echo "${there}"
}
