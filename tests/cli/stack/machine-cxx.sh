# Names with spaces, commas and brackets; frames without one.
. "$CASES/lib.sh"
fixture cxx
"$FRAMEWALK" stack --no-cache --sysroot . --format machine "$dump" -s "$symbols"
