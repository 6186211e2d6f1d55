# 32 bits; a frame without a name, which the PUBLIC before it does not reach.
. "$CASES/lib.sh"
fixture null-x86
"$FRAMEWALK" stack --no-cache --sysroot . "$dump" -s "$symbols"
