#!/bin/sh
# Install the Debian packages named, as far as dpkg does not have them: so it
# also runs offline and unprivileged once they are there.
missing=
for p in "$@"; do
	case $(dpkg-query -W -f '${Status}' "$p" 2>/dev/null) in
	*"ok installed") ;;
	*) missing="$missing $p" ;;
	esac
done
[ -z "$missing" ] && exit 0
echo "installing:$missing"
sudo=
[ "$(id -u)" = 0 ] || sudo=sudo
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get -q update && $sudo apt-get -qy install --no-install-recommends $missing
