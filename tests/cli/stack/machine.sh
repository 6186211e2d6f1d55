# Breakpad's form: inline calls are frames of their own there.
. "$CASES/lib.sh"
fixture libcall
"$FRAMEWALK" stack --no-cache --sysroot . --format machine "$dump" -s "$symbols"
