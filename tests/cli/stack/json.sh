# Every key of the report, inline calls and registers of the first frame.
. "$CASES/lib.sh"
fixture null
"$FRAMEWALK" stack --no-cache --sysroot . --json --pretty "$dump" -s "$symbols"
