# Where compiled symbols go: --cache, XDG_CACHE_HOME, HOME, nowhere; the report is the same.
. "$CASES/lib.sh"
fixture null
run() { "$FRAMEWALK" stack --brief "$dump" -s "$symbols" "$@"; }
count() { find "$1" -name '*.img' 2> /dev/null | wc -l; }
run --no-cache > a; count .
run > b; count home/.cache/framewalk; cmp a b
XDG_CACHE_HOME=$PWD/xdg run > b; count xdg/framewalk; cmp a b
XDG_CACHE_HOME=relative HOME=$PWD/h run > b; count h/.cache/framewalk; cmp a b
XDG_CACHE_HOME='' HOME='' run > b; echo "status $?"; cmp a b
env -u HOME "$FRAMEWALK" stack --brief "$dump" -s "$symbols" > b; echo "status $?"; cmp a b
run --cache=here > b; count here; cmp a b
run --cache=here > b; cmp a b
run --cache /dev/null/x > b; echo "status $?"; cmp a b
