# Any layout of symbols, plain or packed: a store, flat names, one file each, gzip.
. "$CASES/lib.sh"
fixture libcall
run() { "$FRAMEWALK" stack --no-cache --sysroot . --json "$@" "$dump" | sed 's/"symbol_file":"[^"]*"//g'; }
run -s "$symbols" > want
mkdir flat packed store
n=0
find "$symbols" -name '*.sym' > list
while read -r f; do
	n=$((n + 1))
	cp "$f" flat/$n.sym
	gzip -c "$f" > packed/$n.bin.sym.gz
	d=store/${f#"$symbols/"}
	mkdir -p "$(dirname "$d")"
	gzip -c "$f" > "$d.gz"
done < list
run -s flat | cmp - want
run -s packed | cmp - want
run -s store | cmp - want
run -s flat/1.sym -s flat/2.sym | cmp - want
run -s flat/2.sym -s flat/1.sym | cmp - want
run -s "$TESTDATA/libcall" | cmp - want
sed 's/$/\r/' flat/1.sym > cr.sym
run -s cr.sym -s flat/2.sym | cmp - want
echo $n
