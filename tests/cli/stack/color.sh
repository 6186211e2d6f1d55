# Escape sequences only when asked for, or on a terminal that wants them.
. "$CASES/lib.sh"
fixture threads
esc=$(printf '\033')
run() { "$FRAMEWALK" stack --no-cache --sysroot . "$dump" -s "$symbols" "$@" | grep -c "$esc" | sed 's/^[1-9].*/some/'; }
echo "auto $(run)"
echo "never $(run --color never)"
echo "always $(run --color=always)"
echo "NO_COLOR always $(NO_COLOR=1 run --color=always)"
"$FRAMEWALK" stack --no-cache --sysroot . "$dump" --color always | sed "s/$esc\[[0-9;]*m//g" > plain
"$FRAMEWALK" stack --no-cache --sysroot . "$dump" | cmp - plain
