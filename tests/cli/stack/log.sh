# Standard error by level; standard output is the same for all.
. "$CASES/lib.sh"
fixture null
mkdir d; cp "$dump" d/a.dmp; echo text > d/b
for level in error warn info debug; do
	"$FRAMEWALK" stack --no-cache --sysroot . d nothing -s "$symbols" --log-level $level > $level 2> err; echo "$level $?"
	cmp error $level
	sed 's/^/  /' err
done
