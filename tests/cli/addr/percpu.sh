# A kernel has a segment of per-CPU data that is linked to 0, gigabytes away from its code.
# needs: gcc addr2line
. "$CASES/lib.sh"
cat > k.c <<'END'
__attribute__((section(".percpu"))) int per_cpu = 1;
int inner(int x) { return x * 3; }
int outer(int x) { return inner(x) + 1; }
END
cat > k.ld <<'END'
PHDRS { percpu PT_LOAD FLAGS(6); text PT_LOAD FLAGS(5); }
SECTIONS {
	.percpu 0 : { *(.percpu) } :percpu
	. = 0xffffffff81000000;
	.text : { *(.text*) } :text
	/DISCARD/ : { *(.note*) *(.comment) }
}
END
gcc -g -O1 -fno-inline -mcmodel=kernel -fno-pie -no-pie -nostdlib -static -Wl,-T,k.ld \
	-Wl,--build-id=none -Wl,-e,outer k.c -o vmlinux 2> /dev/null || exit 1
ln -s "$FRAMEWALK" addr2line
for i in 0 1 2 3 4 5 6 7 8 9 a b c d; do echo ffffffff8100000$i; done > asked
/usr/bin/addr2line -fe vmlinux < asked > theirs
./addr2line -fe vmlinux < asked | cmp - theirs && grep -c '^[io]' theirs
"$FRAMEWALK" addr -e vmlinux 0xffffffff81000004
