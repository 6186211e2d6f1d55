# Bad records cost themselves, are counted and told by line.
. "$CASES/lib.sh"
fixture null
id=0FCDF475DE92BFA1379A3F31B928F10F0
file=$symbols/null/$id/null.sym
mkdir -p bad/null/$id
sed -e '/^FUNC 1210/s/1210/zzzz/' -e '/^STACK CFI 13/s/: .*/: $rsp +/' -e '$a UNKNOWN record' "$file" > bad/null/$id/null.sym
grep -nE 'zzzz|^STACK CFI 13|UNKNOWN' bad/null/$id/null.sym | cut -d ' ' -f 1-5
sed -n '/zzzz/,/^FUNC/p' bad/null/$id/null.sym | grep -c '^[0-9a-f]* [0-9a-f]* [0-9]* [0-9]*$'
"$FRAMEWALK" stack --no-cache --sysroot . "$dump" -s bad -s "$symbols" | sed -n '/^Thread/,/^Other/p'
"$FRAMEWALK" stack --no-cache --sysroot . --json "$dump" -s bad | grep -o '"diagnostics":{.*}}' | sed 's/,"on_stack".*//'
echo '--- no symbol file; a good one after it is used'
mkdir -p text/null/$id
echo 'this is no symbol file' > text/null/$id/null.sym
"$FRAMEWALK" stack --no-cache --sysroot . "$dump" -s text | sed -n '/^Modules/,/^Other/p'
"$FRAMEWALK" stack --no-cache --sysroot . --json "$dump" -s text -s "$symbols" | grep -o '"symbol_status":"[a-z_]*","symbol_file":[^,]*,"symbol_message":[^,]*'
