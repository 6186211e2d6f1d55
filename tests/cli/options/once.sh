# One program: of two that differ none is silently left out.
. "$CASES/lib.sh"
try addr -e one --exe=two 0x10
try stack -e one -e two core
cp "$FRAMEWALK" app
try addr -e app -e app 0xffffffffffff
