# Addresses of a .sym, in each format; from standard input; what is no address.
. "$CASES/lib.sh"
cat > app.sym <<'END'
MODULE Linux x86_64 0123456789ABCDEF0123456789ABCDEF0 app
FILE 0 src/a.c
FILE 1 src/b.h
INLINE_ORIGIN 0 outer_inlined
INLINE_ORIGIN 1 inner_inlined
FUNC 1000 20 0 main(int, char**)
INLINE 0 7 0 0 1008 8
INLINE 1 3 1 1 100c 4
1000 8 6 0
1008 8 2 1
1010 8 8 0
PUBLIC 1100 0 exported
END
try addr -e app.sym --no-cache 1000 0x100d 1009 1018 1104 5
try addr -e app.sym --no-cache --json --pretty 100d 5
try addr -e app.sym --no-cache --format ndjson 1000 1104
printf '0x1000\nnonsense\n1104' | "$FRAMEWALK" addr -e app.sym --no-cache
try addr -e missing 1
try addr 1000
try addr -e app.sym --format machine 1
try addr -e app.sym --pretty 1
