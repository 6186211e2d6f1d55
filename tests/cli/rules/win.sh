# STACK WIN records, types 4 and 0, and the names and lines of a PDB's .sym.
. "$CASES/lib.sh"
cat > app.sym <<'END'
MODULE windows x86 0123456789ABCDEF0123456789ABCDEF1 app.pdb
FILE 1 c:\src\app.cc
FUNC 1000 30 c WinMain
1000 30 12 1
STACK WIN 4 1000 30 3 2 c 8 10 0 1 $T0 $ebp = $eip $T0 4 + ^ = $ebp $T0 ^ = $esp $T0 8 + =
STACK WIN 0 2000 10 1 1 8 4 0 0 0 1
STACK WIN 0 3000 10 1 1 8 4 0 0 0 0
STACK WIN 4 4000 10 0 0 0 0 0 0 1 $T0 .raSearch = $eip $T0 ^ = $esp $T0 4 + .cbParams - = $ebx $T0 .cbLocals 4 * .cbSavedRegs + 8 @ - ^ =
END
try rules --no-cache app.sym 1010 2000 300f 3010 4000
try rules --no-cache --json app.sym 2000
