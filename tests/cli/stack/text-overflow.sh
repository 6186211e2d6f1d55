# Endless recursion through two functions, folded.
. "$CASES/lib.sh"
fixture overflow
"$FRAMEWALK" stack --no-cache --sysroot . "$dump" -s "$symbols"
