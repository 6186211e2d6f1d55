#!/bin/sh
# What a newcomer meets: a minimal Debian 12 with make, gcc and git, a clone of
# HEAD in it, and the README's two commands, as root. Nothing of this machine is
# used but its kernel, its network and its list of Debian mirrors.
#
# usage: tests/fresh.sh      as root; needs mmdebstrap. Takes some minutes.
#   KEEP=1      leave the root directory behind
#   MIRROR=URL  another mirror than the host's
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
suite=bookworm
[ "$(id -u)" -eq 0 ] || { echo "fresh: needs root" >&2; exit 2; }
command -v mmdebstrap > /dev/null || { echo "fresh: needs mmdebstrap (apt-get install mmdebstrap)" >&2; exit 2; }

work=$(mktemp -d) || exit 2
root=$work/root
# Mounts are made in a namespace of their own and gone before this.
trap '[ -n "${KEEP-}" ] && echo "fresh: kept $root" || rm -rf --one-file-system "$work"' EXIT
trap 'exit 130' INT TERM HUP

# The host's list, if it is one of Debian 12.
sources=
for file in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list; do
	[ -z "$sources" ] && grep -qs "$suite" "$file" && sources=$file
done
[ -z "${MIRROR-}" ] || sources=$MIRROR
proxy=$(apt-config shell p Acquire::http::Proxy 2> /dev/null | sed -n "s/^p='\(.*\)'$/\1/p")

echo "== a minimal Debian ($suite) from ${sources:-the default mirror}"
mmdebstrap --quiet --variant=minbase --include=make,gcc,libc6-dev,git,ca-certificates \
	${proxy:+--aptopt="Acquire::http::Proxy \"$proxy\""} "$suite" "$root" ${sources:+"$sources"} || exit 1
cp /etc/resolv.conf "$root/etc/resolv.conf"
git -C "$here" bundle create -q "$root/srv/framewalk.bundle" HEAD || exit 1
echo "== $(git -C "$here" log -1 --format='%h %s'), $(chroot "$root" dpkg-query -f '.\n' -W | wc -l) packages installed"

cat > "$root/srv/run" << 'END'
cd /srv && git clone -q -c advice.detachedHead=false framewalk.bundle framewalk && cd framewalk || exit 2
for target in demo check; do
	echo "== make $target"
	start=$(date +%s)
	make $target > /srv/$target.log 2>&1
	echo $? > /srv/$target.status
	echo "took $(($(date +%s) - start)) s"
done
END
inside='mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" &&
	exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/srv TERM=dumb chroot "$1" sh /srv/run'
unshare --mount --pid --fork --kill-child --uts sh -c "hostname fresh; $inside" sh "$root" || exit 1

echo
echo "== make demo printed"
sed -n '/framewalk stack/,$p' "$root/srv/demo.log" | head -n "${LINES_SHOWN:-60}"
echo
echo "== make check printed"
grep -E '^([0-9]+ passed|.*: not ok)' "$root/srv/check.log"
read -r demo < "$root/srv/demo.status"
read -r check < "$root/srv/check.status"
echo "== make demo: status $demo, make check: status $check"
if [ "$demo" -ne 0 ] || [ "$check" -ne 0 ]; then
	[ "$demo" -eq 0 ] || tail -n 30 "$root/srv/demo.log"
	[ "$check" -eq 0 ] || for tap in "$root"/srv/framewalk/build/tap/*.tap; do
		grep -B 12 '^not ok' "$tap"
	done
	exit 1
fi
