# A signal frame; the function below it has been interrupted at its first byte.
. "$CASES/lib.sh"
fixture signal-trap
"$FRAMEWALK" stack --no-cache --sysroot . "$dump" -s "$symbols"
