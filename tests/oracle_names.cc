#include <algorithm>
#include <any>
#include <array>
#include <atomic>
#include <bitset>
#include <chrono>
#include <deque>
#include <forward_list>
#include <functional>
#include <future>
#include <iomanip>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <queue>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

/*
 * Code for oracle_names.py: deeply inlined, never run. UNIT chooses which parts
 * a unit has and what they work on, so that units differ; parts that units
 * share are thrown away by the linker in all but one. SMALL: four parts.
 */
#ifdef SMALL
#define HAS(part) ((part) < 4)
#else
#define HAS(part) ((UNIT * (2 * (part) + 3) + (part)) % 8 < 3)
#endif
#define GLUE2(a, b) a##b
#define GLUE(a, b) GLUE2(a, b)
#define TEXT2(a) #a
#define TEXT(a) TEXT2(a)
#define SPACE GLUE(unit, UNIT)
#define RUN GLUE(run, UNIT)

namespace common {
#if UNIT % 4 == 0
using text = std::string;
using number = long;
#elif UNIT % 4 == 1
using text = std::wstring;
using number = int;
#elif UNIT % 4 == 2
using text = std::u16string;
using number = unsigned short;
#else
using text = std::vector<char>;
using number = double;
#endif

template<int N, class T> struct key {
	T name;
	number rank[1 + N % 3];
	bool operator<(const key &o) const { return rank[0] != o.rank[0] ? rank[0] < o.rank[0] : name < o.name; }
	bool operator==(const key &o) const { return name == o.name && rank[0] == o.rank[0]; }
};
template<int N, class T> struct hash {
	size_t operator()(const key<N, T> &k) const
	{
		size_t h = 1469598103934665603u;
		for (auto c : k.name)
			h = (h ^ c) * 1099511628211u;
		return h * 31 + k.rank[0];
	}
};
template<class T> T word_of(const std::string &s) { return T(s.begin(), s.end()); }
inline __attribute__((always_inline)) long mix(long a, long b)
{
	a ^= b << 7;
	if (a & 0x10)
		a += b >> 3;
	return a * 31;
}
}

namespace SPACE {
using namespace common;
using K = key<UNIT, text>;
using H = hash<UNIT, text>;

#if HAS(0)	// containers, variants, sorting
template<int N> long containers(const std::string &input)
{
	std::map<K, std::vector<text>> tree;
	std::unordered_map<K, std::list<number>, H> table;
	std::multiset<K> many;
	std::deque<K> queue;
	std::istringstream in(input);
	std::string word;
	number n = N;
	while (in >> word) {
		K k{word_of<text>(word), {n++}};
		tree[k].push_back(k.name);
		table[k].push_front(n);
		many.insert(k);
		queue.push_back(k);
		if ((long)n % 5 == N % 5)
			queue.push_front(std::move(k));
	}
	std::stable_sort(queue.begin(), queue.end());
	std::sort(queue.rbegin(), queue.rend(), [](const K &a, const K &b) { return b.name < a.name; });
	queue.erase(std::unique(queue.begin(), queue.end()), queue.end());
	std::vector<std::variant<long, text, K>> values;
	for (auto &[k, v] : tree) {
		values.emplace_back(k);
		for (auto &s : v)
			values.emplace_back(s);
	}
	long sum = 0;
	for (auto &v : values)
		sum += std::visit([&](auto &x) -> long {
			if constexpr (std::is_same_v<std::decay_t<decltype(x)>, long>)
				return x;
			else if constexpr (std::is_same_v<std::decay_t<decltype(x)>, text>)
				return x.size();
			else
				return x.rank[0] + x.name.size();
		}, v);
	try {
		if (many.size() % 7 == 3)
			throw K{word_of<text>(input), {(number)sum}};
	} catch (const K &k) {
		sum -= k.rank[0];
	}
	return sum + table.size();
}
#endif

#if HAS(1)	// virtual functions, thunks, several and virtual bases
template<int N> struct shape {
	virtual ~shape() {}
	virtual double area(double f) const { return f * N; }
	virtual shape *copy() const { return new shape(*this); }
};
struct named {
	text name;
	virtual ~named() = default;
	virtual const text &title() const { return name; }
};
template<int N> struct box : named, virtual shape<N> {
	std::vector<K> keys;
	std::shared_ptr<shape<N>> inner;
	double area(double f) const override
	{
		double sum = inner ? inner->area(f) : 0;
		for (auto &k : keys)
			sum += k.rank[0] * f;
		return sum;
	}
	box *copy() const override { return new box(*this); }
};
template<int N> struct crate final : box<N> {
	std::array<int, N + 3> sides{};
	double area(double f) const override { return std::accumulate(sides.begin(), sides.end(), box<N>::area(f)); }
};
template<int N> double shapes(const std::string &s)
{
	std::vector<std::unique_ptr<shape<N>>> all;
	for (char c : s)
		if (c == 'b')
			all.emplace_back(new box<N>);
		else if (c == 'c')
			all.push_back(std::make_unique<crate<N>>());
		else if (!all.empty())
			all.emplace_back(all.back()->copy());
	double sum = 0;
	for (auto &p : all)
		if (auto *b = dynamic_cast<box<N> *>(p.get()))
			sum += b->title().size() + b->area(2);
	return sum;
}
#endif

#if HAS(2)	// functions of this unit only, their clones, cold parts
namespace {
struct state { long a, b; text t; };
__attribute__((noinline)) long rare(const state &s, int why)
{
	if (why > UNIT)
		throw std::out_of_range("rare");
	return s.a - why;
}
__attribute__((noinline, cold)) void complain(state &s) { s.t.clear(); s.b = -1; }
long step(state &s, int kind)
{
	switch (kind % 9) {
	case 0: return s.a++;
	case 1: s.t.push_back('x'); return s.b;
	case 2: if (s.b > 1000) complain(s); return mix(s.a, s.b);
	case 3: return rare(s, kind);
	case 4: s.b += s.t.size(); break;
	case 5: s.a = mix(s.b, kind); break;
	case 6: { text u(s.t); u.insert(u.end(), s.t.begin(), s.t.end()); s.t.swap(u); break; }
	case 7: return step(s, kind / 2) + step(s, kind / 3);
	}
	if (__builtin_expect(s.a < 0, 0)) {
		complain(s);
		throw std::runtime_error("negative");
	}
	return 0;
}
}
long hidden(const std::string &in)
{
	state s{UNIT, 2, text()};
	long n = 0;
	for (unsigned char c : in)
		try {
			n += step(s, c);
		} catch (const std::out_of_range &) {
			n += rare(s, 0);
		}
	struct local {
		static long twice(long x) { return common::mix(x, x) + x; }
		long operator()(long x) const { return twice(x) + UNIT; }
	};
	return local()(n) + local::twice(s.b);
}
#endif

#if HAS(3)	// lambdas in lambdas
template<class F> auto twice(F f) { return [f](auto x) { return f(f(x)); }; }
long lambdas(const std::string &s)
{
	long total = 0;
	auto add = [&total](long n) { total += n; return [&total, n](long m) { return mix(total, n + m); }; };
	std::function<long(long)> again = [&](long n) -> long { return n < 2 ? UNIT : again(n - 1) + add(n)(n - 2); };
	auto pick = [&](auto &&self, size_t i) -> long {
		if (i >= s.size())
			return total;
		return [&, c = s[i]] { return c == 'z' ? add(c)(i) : self(self, i + 1); }();
	};
	std::vector<std::function<long(long)>> list{again, twice([](long x) { return x * UNIT; }),
						    twice(twice([&](long x) { return x + total; }))};
	for (auto &f : list)
		total += f(s.size());
	return pick(pick, 0);
}
#endif

#if HAS(4)	// templates into templates
template<int N> struct tower {
	static __attribute__((always_inline)) long climb(long x)
	{
		if (x % (N + 2) == 0)
			x = mix(x, N);
		return tower<N - 1>::climb(x + N);
	}
};
template<> struct tower<0> { static long climb(long x) { return x; } };
template<class... T> long sum(const T &...x) { return (0 + ... + (long)x); }
template<class... T> long tuples(std::tuple<T...> t)
{
	return std::apply([](auto... x) { return sum(x...) + sum(sizeof(x)...); }, t) +
	       tower<10 + UNIT % 17>::climb(std::get<0>(t));
}
long templates(const std::string &s)
{
	std::optional<std::any> any;
	if (s.size() > 3)
		any = std::make_any<K>(K{word_of<text>(s), {1}});
	long n = tuples(std::make_tuple((int)s.size(), 2L, 'c', (number)3));
	if (any && any->type() == typeid(K))
		n += std::any_cast<K &>(*any).name.size();
	return n + tuples(std::make_tuple(n, (short)UNIT));
}
#endif

#if HAS(5)	// a parser: recursion, jump tables, exceptions
struct parser {
	std::string_view in;
	struct node { char op; long value; std::unique_ptr<node> left, right; };
	using tree = std::unique_ptr<node>;
	[[noreturn]] void fail(const char *what) const { throw std::invalid_argument(std::string(what) + std::string(in.substr(0, 8))); }
	tree primary()
	{
		if (in.empty())
			fail("end");
		char c = in[0];
		in.remove_prefix(1);
		if (c == '(') {
			tree t = expression(0);
			if (in.empty() || in[0] != ')')
				fail("paren");
			in.remove_prefix(1);
			return t;
		}
		if (c < '0' || c > '9')
			fail("digit");
		return tree(new node{'n', c - '0', nullptr, nullptr});
	}
	static int level(char c)
	{
		switch (c) {
		case '+': case '-': return 1;
		case '*': case '/': case '%': return 2;
		case '^': return 3 + UNIT;
		case '&': case '|': return 7;
		default: return -1;
		}
	}
	tree expression(int least)
	{
		tree left = primary();
		while (!in.empty() && level(in[0]) >= least) {
			char op = in[0];
			in.remove_prefix(1);
			tree right = expression(level(op) + 1);
			left = tree(new node{op, 0, std::move(left), std::move(right)});
		}
		return left;
	}
	static long value(const node &n)
	{
		switch (n.op) {
		case 'n': return n.value;
		case '+': return value(*n.left) + value(*n.right);
		case '-': return value(*n.left) - value(*n.right);
		case '*': return value(*n.left) * value(*n.right);
		case '/': if (long d = value(*n.right)) return value(*n.left) / d; throw std::domain_error("zero");
		case '%': return value(*n.left) % (value(*n.right) | 1);
		case '&': return value(*n.left) & value(*n.right);
		case '|': return value(*n.left) | value(*n.right);
		}
		return mix(value(*n.left), n.op);
	}
};
long parse(const std::string &s)
{
	parser p{s};
	try {
		auto t = p.expression(0);
		return parser::value(*t);
	} catch (const std::invalid_argument &e) {
		return std::string_view(e.what()).size();
	} catch (const std::exception &) {
		return -UNIT;
	}
}
#endif

#if HAS(6)	// loops, vectors, arrays
template<size_t R, size_t C> struct matrix {
	std::array<std::array<double, C>, R> v{};
	template<size_t D> matrix<R, D> operator*(const matrix<C, D> &o) const
	{
		matrix<R, D> m;
		for (size_t i = 0; i < R; i++)
			for (size_t j = 0; j < D; j++)
				for (size_t k = 0; k < C; k++)
					m.v[i][j] += v[i][k] * o.v[k][j];
		return m;
	}
	matrix<C, R> turned() const
	{
		matrix<C, R> m;
		for (size_t i = 0; i < R; i++)
			for (size_t j = 0; j < C; j++)
				m.v[j][i] = v[i][j];
		return m;
	}
};
double numbers(const std::string &s)
{
	matrix<3 + UNIT % 4, 5> a;
	std::vector<double> w(s.begin(), s.end());
	for (size_t i = 0; i < w.size(); i++)
		a.v[i % 3][i % 5] += w[i];
	auto b = a * a.turned() * a;
	std::partial_sum(w.begin(), w.end(), w.begin());
	std::nth_element(w.begin(), w.begin() + w.size() / 2, w.end());
	std::bitset<64 + UNIT> bits;
	for (double x : w)
		bits.flip((size_t)x % bits.size());
	return std::inner_product(w.begin(), w.end(), b.v[0].begin(), 0.0) + bits.count();
}
#endif

#if HAS(7)	// text and streams
std::string texts(const std::string &s)
{
	std::ostringstream out;
	out << std::hex << std::setw(UNIT % 7 + 2) << std::setfill('0') << s.size() << ' ' << std::fixed
	    << std::setprecision(3) << s.size() / 7.0;
	std::string r = out.str() + std::to_string(UNIT) + "/" + std::to_string(s.size() * 1.5);
	for (size_t at = 0; (at = r.find('0', at)) != r.npos; at += 2)
		r.replace(at, 1, "oo");
	std::string_view v(r);
	std::vector<std::string_view> parts;
	while (!v.empty()) {
		size_t n = std::min(v.find_first_of(" /."), v.size());
		parts.push_back(v.substr(0, n));
		v.remove_prefix(std::min(n + 1, v.size()));
	}
	std::sort(parts.begin(), parts.end(), std::greater<>());
	return std::accumulate(parts.begin(), parts.end(), std::string(), [](std::string a, std::string_view b) {
		return std::move(a) + "," + std::string(b);
	});
}
#endif

#if HAS(8)	// own memory
template<class T> struct pool {
	using value_type = T;
	std::shared_ptr<std::vector<std::unique_ptr<char[]>>> blocks = std::make_shared<std::vector<std::unique_ptr<char[]>>>();
	pool() = default;
	template<class U> pool(const pool<U> &o) : blocks(o.blocks) {}
	T *allocate(size_t n)
	{
		blocks->emplace_back(new char[n * sizeof(T)]);
		return reinterpret_cast<T *>(blocks->back().get());
	}
	void deallocate(T *, size_t) {}
	bool operator==(const pool &o) const { return blocks == o.blocks; }
	bool operator!=(const pool &o) const { return blocks != o.blocks; }
};
struct handle {
	int fd = -1;
	explicit handle(int n) : fd(n) {}
	handle(handle &&o) noexcept : fd(std::exchange(o.fd, -1)) {}
	handle &operator=(handle &&o) noexcept { std::swap(fd, o.fd); return *this; }
	~handle() { if (fd >= 0) closed += fd; }
	static long closed;
};
long handle::closed;
long memories(const std::string &s)
{
	std::vector<K, pool<K>> v;
	std::map<long, text, std::less<>, pool<std::pair<const long, text>>> m;
	std::list<handle> handles;
	for (unsigned char c : s) {
		v.push_back(K{text(3, c), {(number)c}});
		m.emplace(c, v.back().name);
		handles.emplace_back(c);
		if (c % 3 == UNIT % 3)
			handles.front() = handle(c + 1);
	}
	v.erase(std::remove_if(v.begin(), v.end(), [](const K &k) { return (long)k.rank[0] % 2; }), v.end());
	std::unique_ptr<long, void (*)(long *)> p(new long(UNIT), [](long *x) { handle::closed += *x; delete x; });
	return v.size() + m.size() + *p + handle::closed;
}
#endif

#if HAS(9)	// threads
struct counter {
	std::mutex lock;
	std::atomic<long> fast{0};
	long slow = 0;
	void add(long n)
	{
		fast.fetch_add(n, std::memory_order_relaxed);
		std::lock_guard<std::mutex> hold(lock);
		slow += n;
	}
};
long threads(const std::string &s)
{
	counter c;
	std::vector<std::future<long>> all;
	for (int i = 0; i < 4; i++)
		all.push_back(std::async(std::launch::async, [&c, &s, i] {
			for (size_t k = i; k < s.size(); k += 4)
				c.add(mix(s[k], UNIT));
			return c.slow;
		}));
	long n = 0;
	for (auto &f : all)
		n += f.get();
	std::once_flag once;
	std::call_once(once, [&] { n += c.fast; });
	return n + std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
#endif

#if HAS(10)	// what runs before and after main, and what each thread has
struct registered {
	static std::vector<registered *> &all() { static std::vector<registered *> v; return v; }
	text name;
	registered(const char *n) : name(n, n + 3) { all().push_back(this); }
	~registered() { all().pop_back(); }
};
static registered first("one"), second("two");
static const std::map<int, text> names = {{UNIT, text(2, 'a')}, {2, text(3, 'b')}};
thread_local std::set<long> seen;
long statics(const std::string &s)
{
	static const std::string big = s + s;
	for (char c : big)
		seen.insert(c * UNIT);
	auto i = names.find(s.size());
	return seen.size() + registered::all().size() + (i == names.end() ? 0 : i->second.size());
}
#endif

#if HAS(11)	// lines of other files; names that are not C++'s
extern "C" long GLUE(plain_, UNIT)(long a);
#line 1000 "generated/table.inc"
static inline __attribute__((always_inline)) long generated(long a)
{
	return a > 100 ? common::mix(a, UNIT) : a;
}
#line 70000 "generated/far.y"
extern "C" __attribute__((noinline)) long GLUE(plain_, UNIT)(long a)
{
	long n = generated(a);
	for (int i = 0; i < a; i++) {
#line 12 "generated/near.y"
		n += generated(n * i);
	}
	return n;
}
extern "C" long GLUE(alias_, UNIT)(long a) __attribute__((alias("plain_" TEXT(UNIT))));
long renamed(long) __asm__("renamed." TEXT(UNIT));
long renamed(long a)
{
	static void *const table[] = { &&zero, &&one, &&two };
	long n = a;
	goto *table[a % 3];
zero:	n += generated(2);
one:	n = common::mix(n, a);
two:	return n + GLUE(alias_, UNIT)(n);
}
#line 537 "oracle_names.cc"
#endif

#if HAS(12)	// heaps, sets, selections
template<class C> long selected(const std::string &s)
{
	std::priority_queue<K, std::vector<K>, std::greater<>> heap_of;
	C a, b;
	for (unsigned char c : s) {
		a.insert(c % 13);
		b.insert(c % (UNIT + 2));
		heap_of = {};
	}
	std::vector<long> both;
	std::copy_if(a.begin(), a.end(), std::back_inserter(both), [&](long x) { return b.count(x); });
	std::make_heap(both.begin(), both.end());
	while (both.size() > 3) {
		std::pop_heap(both.begin(), both.end());
		both.pop_back();
	}
	std::forward_list<K> list;
	for (long x : both)
		list.push_front(K{text(2, x), {(number)x}});
	list.sort();
	list.unique();
	std::rotate(both.begin(), both.begin() + both.size() / 2, both.end());
	return std::distance(list.begin(), list.end()) + both.size() + heap_of.size();
}
#endif

#if HAS(13) && UNIT % 4 == 1	// a big one
struct traits : std::regex_traits<char> {};
long matches(const std::string &s)
{
	std::basic_regex<char, traits> re("(a|b)*([[:alpha:]]+)\\s*=\\s*(.*)");
	std::match_results<std::string::const_iterator> m;
	return std::regex_search(s, m, re) ? m.size() : 0;
}
#endif

#if HAS(14)	// what is caught, rethrown, cleaned up
struct guard {
	text &t;
	explicit guard(text &x) : t(x) { t.push_back('g'); }
	~guard() { if (std::uncaught_exceptions()) t.clear(); else t.pop_back(); }
};
template<int N> long thrown(text &t, long n)
{
	guard g(t);
	if (n > N)
		throw std::make_pair(n, t);
	try {
		if constexpr (N > 0)
			return thrown<N - 1>(t, n + t.size());
		else
			throw std::logic_error("last");
	} catch (std::pair<long, text> &p) {
		if (p.first % 2)
			throw;
		return p.second.size();
	} catch (const std::logic_error &) {
		std::throw_with_nested(std::runtime_error("outer"));
	}
}
long exceptions(const std::string &s)
{
	text t = word_of<text>(s);
	try {
		return thrown<3 + UNIT % 3>(t, s.size());
	} catch (const std::exception &e) {
		try {
			std::rethrow_if_nested(e);
		} catch (...) {
			return UNIT;
		}
	} catch (...) {
	}
	return 0;
}
#endif
}

long RUN(const std::string &s)
{
	using namespace SPACE;
	long n = UNIT;
#if HAS(0)
	n += containers<UNIT>(s) + containers<2>(s);
#endif
#if HAS(1)
	n += shapes<UNIT>(s) + shapes<3>(s);
#endif
#if HAS(2)
	n += hidden(s);
#endif
#if HAS(3)
	n += lambdas(s);
#endif
#if HAS(4)
	n += templates(s);
#endif
#if HAS(5)
	n += parse(s);
#endif
#if HAS(6)
	n += numbers(s);
#endif
#if HAS(7)
	n += texts(s).size();
#endif
#if HAS(8)
	n += memories(s);
#endif
#if HAS(9)
	n += threads(s);
#endif
#if HAS(10)
	n += statics(s);
#endif
#if HAS(11)
	n += renamed(n);
#endif
#if HAS(12)
	n += selected<std::set<long>>(s) + selected<std::unordered_set<long>>(s);
#endif
#if HAS(13) && UNIT % 4 == 1
	n += matches(s);
#endif
#if HAS(14)
	n += exceptions(s);
#endif
	return n;
}
