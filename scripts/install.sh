#!/bin/sh
# Installs hotrow from the folder of a release (Linux, macOS): finds the archive of this system,
# compares it with the list of checksums, and puts the program where programs are.
#
#     sh install.sh [FOLDER]      the folder of the release; none: that of this script
#
# PREFIX says where to: PREFIX/bin/hotrow. The default is /usr/local if it may be written,
# else ~/.local. Nothing is fetched, and nothing else is changed.
set -eu

fail() {
	echo "install: $1" >&2
	exit 1
}

folder=${1:-$(dirname "$0")}
[ -d "$folder" ] || fail "no folder $folder"

case $(uname -s) in
Linux) system=linux ;;
Darwin) system=darwin ;;
*) fail "no release for $(uname -s): see docs/howto/install.md" ;;
esac
case $(uname -m) in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) fail "no release for $(uname -m): make build makes one from the source" ;;
esac

sums= archive=
for file in "$folder"/hotrow_*_checksums.txt; do
	[ -e "$file" ] || fail "no hotrow_VERSION_checksums.txt in $folder"
	[ -z "$sums" ] || fail "more than one release in $folder: $sums, $file"
	sums=$file
done
archive=${sums%_checksums.txt}_${system}_$arch.tar.gz
[ -f "$archive" ] || fail "no $archive"

name=$(basename "$archive")
want=$(awk -v name="$name" '$2 == name || $2 == "*" name { print $1 }' "$sums")
[ -n "$want" ] || fail "$name is not in $sums"
if command -v sha256sum >/dev/null; then
	got=$(sha256sum <"$archive")
elif command -v shasum >/dev/null; then
	got=$(shasum -a 256 <"$archive")
else
	fail "neither sha256sum nor shasum is here, to compare the archive with $sums"
fi
[ "${got%% *}" = "$want" ] || fail "$archive is not what $sums says: get it again"

prefix=${PREFIX:-/usr/local}
if [ -z "${PREFIX:-}" ] && ! { mkdir -p "$prefix/bin" && [ -w "$prefix/bin" ]; } 2>/dev/null; then
	prefix=$HOME/.local
fi
mkdir -p "$prefix/bin"

# Beside the old one, then in its place: a program that runs keeps its file.
new=$prefix/bin/.hotrow.$$
trap 'rm -f "$new"' EXIT
tar -xzOf "$archive" hotrow >"$new" || fail "no hotrow in $archive"
chmod 755 "$new"
"$new" version >/dev/null || fail "the program in $archive does not run here"
mv -f "$new" "$prefix/bin/hotrow"

echo "$prefix/bin/hotrow: $("$prefix/bin/hotrow" version)"
case :$PATH: in
*":$prefix/bin:"*) echo "Try it: hotrow demo" ;;
*) echo "$prefix/bin is not in PATH. Try it: $prefix/bin/hotrow demo" ;;
esac
