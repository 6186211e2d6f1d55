# INIT and its deltas taken together, as Breakpad's symbol file document says.
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
STACK CFI 1004 .cfa: $rbp 16 +
STACK CFI 101f .cfa: $rsp 8 + $rbp: $rbp
STACK CFI INIT 1100 10 .cfa: $rsp 8 + $rip 15 & + .ra: .cfa -8 + ^
STACK CFI INIT 1200 10 .cfa: $rsp 8 + $rax 11 % 3 * + .ra: .cfa -8 + ^ $rbx: .undef $r12: $r12
STACK CFI INIT 1300 10 .cfa: $rsp 8 + .ra: .undef
END
try rules --no-cache app.sym 1000 1000 0x1001 1003 1004 0X101E 101f 1020 1018 1100 110f 1110 1208 1300
try rules --no-cache app.sym 100000000 ffffffffffffffff 0
try rules --no-cache app.sym 0x1001 --json --pretty
