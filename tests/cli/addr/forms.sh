# One program, its debug information in every form that tools make of it: the same
# answers at each byte as the plain program's, which the addresses of one link
# editor run make comparable. Skipped with a word: what a missing tool would make.
# needs: g++ nm objcopy
mkdir src bin
cat > src/a.cc <<'END'
#include <algorithm>
#include <map>
#include <string>
#include <vector>
namespace ns {
template<class T> struct S { T v; int f(int n); };
template<class T> int S<T>::f(int n)
{
	std::vector<int> q;
	for (int i = 0; i < n; i++)
		q.push_back(i * v);
	std::sort(q.begin(), q.end());
	if (__builtin_expect(q.size() > 1000, 0))
		throw q;
	return q[n / 2];
}
namespace { __attribute__((noinline)) int hidden(std::map<int, std::string> &m) { return m[3].size() + m.size(); } }
}
int other(int);
int main(int c, char **)
{
	std::map<int, std::string> m;
	m[c] = std::to_string(c);
	return ns::S<int>{c}.f(c) + ns::hidden(m) + other(c);
}
END
cat > src/b.cc <<'END'
#include <map>
#include <string>
#include <vector>
int other(int c)
{
	std::map<int, std::string> m;
	std::vector<int> q(c);
	q.push_back(m[c].size());
	return q[0];
}
END
build() { # NAME COMPILER FLAG...
	name=$1 compiler=$2
	shift 2
	( cd src && for u in a b; do "$compiler" -O2 -ffunction-sections -fno-ident "$@" -c $u.cc -o ../$name-$u.o || exit 1; done ) 2> log &&
		"$compiler" -O2 "$@" -no-pie -Wl,--build-id=none $name-a.o $name-b.o -o bin/$name 2>> log
}
# its functions' addresses, every third byte
addresses() {
	nm -S "$1" | awk '$3 ~ /[tTwW]/ && $2 ~ /^0/ { print $1, $2 }' | sort -u | while read -r start size; do
		i=0
		while [ $i -lt $((0x$size)) ]; do printf '0x%x\n' $((0x$start + i)); i=$((i + 3)); done
	done
}
answers() { "$FRAMEWALK" addr --no-cache -e "$1" < list 2>&1; }
same() { # NAME FILE
	answers "$2" > got
	cmp -s want got || { echo "$1 differs"; diff want got | head -4; }
}
missing() { ! command -v "$1" > /dev/null && echo "skipped: no $1" >&3; }
exec 3> skipped

build plain g++ -g -gdwarf-5 || { echo "g++ does not link"; cat log; exit 77; }
addresses bin/plain > list
answers bin/plain > want
grep -c 'inlined by' want | awk '$1 < 500 { print "only", $1, "inlined calls" }'
grep -q 'ns::(anonymous namespace)::hidden' want || echo "no name of a local function"

for z in zlib zlib-gnu zstd; do
	objcopy --compress-debug-sections=$z bin/plain bin/$z 2> /dev/null && same $z bin/$z
done
if ! missing dwz; then
	dwz -o bin/dwz bin/plain && same dwz bin/dwz
	cp bin/plain bin/one
	cp bin/plain bin/two
	# the name is taken as it stands, from the program's folder
	if (cd bin && dwz -m shared.debug one two) 2> /dev/null && [ -e bin/shared.debug ]; then
		same "dwz -m" bin/one
	else
		echo "dwz -m made no shared file"
	fi
fi
mkdir debug
objcopy --only-keep-debug bin/plain debug/app.debug
objcopy --strip-all --add-gnu-debuglink=debug/app.debug bin/plain debug/app
same debuglink debug/app
# code that is compiled again lies at the same places
for form in "four -gdwarf-4" "three -gdwarf-3" "two -gdwarf-2" "wide -gdwarf-5 -gdwarf64" "types4 -gdwarf-4 -fdebug-types-section" \
	"types5 -gdwarf-5 -fdebug-types-section" "split5 -gdwarf-5 -gsplit-dwarf" "split4 -gdwarf-4 -gsplit-dwarf" "packed -gdwarf-5 -gz=zlib"; do
	set -- $form
	name=$1
	shift
	build $name g++ -g "$@" || { echo "$name does not compile"; cat log; continue; }
	same "$name" bin/$name
done
if ! missing dwp; then
	build dwp4 g++ -g -gdwarf-4 -gsplit-dwarf && (cd src && dwp -e ../bin/dwp4) && rm -f dwp4-*.dwo && same dwp bin/dwp4
fi
