# Byte-equal to binutils' addr2line and LLVM's symbolizer on a C program, at every
# byte of its functions. What differs, and is not asked here:
# - addr2line in C++: it names inlined code that has no linkage name after the symbol
#   around it; DWARF, LLVM and we say the inlined function;
# - addr2line behind a function's end: it names the last symbol whatever its size;
# - addr2line -i in a function without lines: it knows the file of a local symbol;
# - columns of llvm-symbolizer and discriminators: a symbol file has none.
# needs: gcc addr2line llvm-symbolizer nm
. "$CASES/lib.sh"
inlined_program
mkdir bin
ln -s "$FRAMEWALK" bin/addr2line
ln -s "$FRAMEWALK" bin/llvm-symbolizer
addresses=$(nm -S app | awk '$3 == "T" && ($4 == "function" || $4 == "main") { print $1, $2 }' |
	while read -r start size; do
		i=0
		while [ $i -lt $((0x$size)) ]; do printf '0x%x ' $((0x$start + i)); i=$((i + 1)); done
	done)
for o in "" -f -s -a -af -pf -apf -C -i -fi -pfi -apfiC; do
	addr2line $o -e app $addresses 0 nonsense ffffffffffffffff | sed 's/ (discriminator [0-9]*)//' > theirs
	bin/addr2line $o -e app $addresses 0 nonsense ffffffffffffffff > ours
	cmp theirs ours || echo "addr2line $o differs"
done
for o in "" --functions=none --output-style=GNU --print-address --pretty-print --no-demangle; do
	llvm-symbolizer $o --obj=app $addresses 0x0 | sed 's/^\(.*app.c:[0-9]*\):[0-9]*$/\1:0/; s/\( at .*app.c:[0-9]*\):[0-9]*$/\1:0/' > theirs
	bin/llvm-symbolizer $o --obj=app $addresses 0x0 > ours
	cmp theirs ours || echo "llvm-symbolizer $o differs"
done
echo done
