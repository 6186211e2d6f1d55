# Called by the names of other tools, without these tools.
cat > app.sym <<'END'
MODULE Linux x86_64 0123456789ABCDEF0123456789ABCDEF0 app
FILE 0 src/a.c
INLINE_ORIGIN 0 inlined
FUNC 1000 20 0 main
INLINE 0 7 0 0 1008 8
1000 8 6 0
1008 8 2 0
PUBLIC 1100 0 exported
END
ln -s "$FRAMEWALK" addr2line
ln -s "$FRAMEWALK" x86_64-linux-gnu-addr2line
ln -s "$FRAMEWALK" llvm-symbolizer
for o in -f -fi -pfi -apfi -sfi -ia; do
	echo "addr2line $o"
	./addr2line $o -e app.sym 1000 0x1009 1100 9 nonsense
done
echo "standard input"
printf '1000\n,\n1009' | ./x86_64-linux-gnu-addr2line -e app.sym -if
echo "-f -e app.sym" > args
./addr2line @args 1000
./addr2line -e missing 1 2>&1; echo "status $?"
./addr2line -e args 1 2>&1; echo "status $?"
./addr2line -j .text -e app.sym 1 2>&1; echo "status $?"
./addr2line -x 2>&1 | head -n 2
for o in --output-style=LLVM --output-style=GNU --output-style=JSON --print-address --pretty-print --functions=none --no-inlines; do
	echo "llvm-symbolizer $o"
	./llvm-symbolizer $o --obj=app.sym 0x1009 4352 9
done
echo "standard input"
printf 'app.sym 0x1000\nCODE "app.sym" 0x1100\nwhat is this\n\nmissing 0x1\n' | ./llvm-symbolizer 2>&1
./llvm-symbolizer --bogus 2>&1; echo "status $?"
