# The same as text.
. "$CASES/lib.sh"
fixture null
"$FRAMEWALK" stack --no-cache --sysroot . --brief --registers "$dump" -s "$symbols"
