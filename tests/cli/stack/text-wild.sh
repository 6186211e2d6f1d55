# A call to where nothing is mapped: the pc is in no module, the caller is.
. "$CASES/lib.sh"
fixture jump-bad
"$FRAMEWALK" stack --no-cache --sysroot . --brief "$dump" -s "$symbols"
