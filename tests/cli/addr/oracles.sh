# Byte-equal to binutils' addr2line and LLVM's symbolizer on a program of ours, but for
# - addr2line -i: the innermost function; binutils looks it up among the symbols and
#   names the function around (libiberty's symbol wins over DWARF's inlined one);
# - columns of llvm-symbolizer: a symbol file has none.
# needs: gcc addr2line llvm-symbolizer nm
cat > app.c <<'END'
#include <stdio.h>
static inline __attribute__((always_inline)) int inner(int x) { return x * 3 + printf("%d\n", x); }
static inline __attribute__((always_inline)) int outer(int x) { return inner(x) + 1; }
__attribute__((noinline)) int function(int x)
{
	return outer(x) * 2;
}
int main(int argc, char **argv)
{
	return function(argc) + argc;
}
END
gcc -g -O2 -o app app.c || { echo "gcc does not link"; exit 77; }
mkdir bin
ln -s "$FRAMEWALK" bin/addr2line
ln -s "$FRAMEWALK" bin/llvm-symbolizer
start=$(nm app | sed -n 's/ T function$//p')
end=$(nm app | sed -n 's/ T main$//p')
addresses=$(i=0; while [ $i -lt 40 ]; do printf '0x%x 0x%x ' $((0x$start + i)) $((0x$end + i)); i=$((i + 1)); done)
for o in "" -f -s -a -af -pf -apf -C; do
	addr2line $o -e app $addresses 0 nonsense ffffffffffffffff | sed 's/ (discriminator [0-9]*)//' > theirs
	bin/addr2line $o -e app $addresses 0 nonsense ffffffffffffffff > ours
	cmp theirs ours || echo "addr2line $o differs"
done
# -i: the same lines, and from the second function on the same names
addr2line -i -e app $addresses | sed 's/ (discriminator [0-9]*)//' > theirs
bin/addr2line -i -e app $addresses > ours
cmp theirs ours || echo "addr2line -i differs"
for o in "" --functions=none --output-style=GNU --print-address --pretty-print --no-demangle; do
	llvm-symbolizer $o --obj=app $addresses 0x0 | sed 's/^\(.*app.c:[0-9]*\):[0-9]*$/\1:0/; s/\( at .*app.c:[0-9]*\):[0-9]*$/\1:0/' > theirs
	bin/llvm-symbolizer $o --obj=app $addresses 0x0 > ours
	cmp theirs ours || echo "llvm-symbolizer $o differs"
done
echo done
