# What is there, and what is wrong with it.
. "$CASES/lib.sh"
id=0123456789ABCDEF0123456789ABCDEF0
mkdir -p d/app/$id d/bad
{ echo "MODULE Linux x86_64 $id app"; echo "FUNC 1000 20 0 main"; echo "FUNC zz"; } > d/app/$id/app.sym
cp d/app/$id/app.sym d/copy.sym
echo "MODULE Linux x86_64 0123456789ABCDEF0123456789ABCDEF1 moved" > d/app/$id/moved.sym
printf '\177ELF\2\1\1' > d/bad/elf
echo "no symbols" > d/notes.txt
echo "FUNC 10 10 0 lost" > lost.sym
try syms check d
try syms check d/copy.sym
try syms check d/notes.txt
try syms check d/bad d/missing
try syms check lost.sym
try syms check d/copy.sym --json
mkdir empty
try syms check empty
