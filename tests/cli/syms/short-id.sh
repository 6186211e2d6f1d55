# A build id of two bytes is no id that readers of symbol files take: what is written is read
# without a complaint.
# needs: gcc
. "$CASES/lib.sh"
echo "int main(void) { return 0; }" | gcc -Wl,--build-id=0x8d81 -x c - -o app || exit 1
"$FRAMEWALK" syms dump app -o app.sym
grep -E '^(MODULE|INFO)' app.sym
"$FRAMEWALK" syms check app.sym | sed "s|, .*||"
