# A .sym packed, from standard input, from the cache: the same answer.
. "$CASES/lib.sh"
cat > app.sym <<'END'
MODULE Linux x86_64 0123456789ABCDEF0123456789ABCDEF0 app
FUNC 1000 20 0 main
STACK CFI INIT 1000 20 .cfa: $rsp 8 + .ra: .cfa -8 + ^
STACK CFI 1001 bad
STACK CFI INIT 1100 zz .cfa: $rsp 8 + .ra: .cfa -8 + ^
whatever
END
gzip -k app.sym
run() { "$FRAMEWALK" rules "$@" 1002 | tail -n +2; }
"$FRAMEWALK" rules --no-cache app.sym 1002
run --no-cache app.sym > a
run --no-cache app.sym.gz | cmp - a
run --no-cache - < app.sym | cmp - a
run --cache c app.sym | cmp - a
run --cache c app.sym | cmp - a
find c -name '*.img' | wc -l
"$FRAMEWALK" rules --no-cache app.sym 1002 -o out; tail -n +2 out | cmp - a
echo "not symbols" > text; printf '\177ELF\2\1\1' > elf; : > empty
for f in text elf empty; do try rules --no-cache $f 1002; done
