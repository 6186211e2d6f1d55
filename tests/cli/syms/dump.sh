# A .sym comes out as it went in; -o, a store, several files, and what cannot be.
. "$CASES/lib.sh"
cat > app.sym <<'END'
MODULE Linux x86_64 0123456789ABCDEF0123456789ABCDEF0 app
FILE 0 src/a.c
FUNC 1000 20 0 main(int, char**)
1000 10 7 0
1010 8 8 0
PUBLIC 1100 0 exported
STACK CFI INIT 1000 20 .cfa: $rsp 8 + .ra: .cfa -8 + ^
STACK CFI 1001 .cfa: $rsp 16 + $rbp: .cfa -16 + ^
END
sed 's/ABCDEF0 app/ABCDEF1 b/' app.sym > b.sym
"$FRAMEWALK" syms dump app.sym | cmp - app.sym
"$FRAMEWALK" syms dump app.sym -o out.sym && cmp out.sym app.sym
try syms dump --store store -j 2 app.sym b.sym
find store -type f | LC_ALL=C sort
cmp store/b/0123456789ABCDEF0123456789ABCDEF1/b.sym b.sym
echo nothing > text
try syms dump text
try syms dump --store store text app.sym
try syms dump app.sym b.sym
try syms dump
try syms
try syms drop x
try syms dump app.sym --json
try syms dump app.sym --store s -o x
try syms check app.sym --store s
