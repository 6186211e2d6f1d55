#include <algorithm>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <numeric>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

// Code for oracle_names.py: much of it, deeply inlined. Never run. SMALL: less.
namespace unit1 {
template<int N> struct key {
	std::string name;
	long rank[1 + N % 3];
	bool operator<(const key &o) const { return rank[0] != o.rank[0] ? rank[0] < o.rank[0] : name < o.name; }
	bool operator==(const key &o) const { return name == o.name && rank[0] == o.rank[0]; }
};
template<int N> struct hash { size_t operator()(const key<N> &k) const { return std::hash<std::string>()(k.name) * 31 + k.rank[0]; } };
struct traits : std::regex_traits<char> {};
template<int N> struct shape {
	virtual ~shape() {}
	virtual double area(double f) const { return f * N; }
};
template<int N> struct box : shape<N> {
	std::vector<key<N>> keys;
	std::shared_ptr<shape<N>> inner;
	double area(double f) const override
	{
		double sum = inner ? inner->area(f) : 0;
		for (auto &k : keys)
			sum += k.rank[0] * f;
		return sum;
	}
};
template<int N> long work(const std::string &text)
{
	std::map<key<N>, std::vector<std::string>> tree;
	std::unordered_map<key<N>, std::list<long>, hash<N>> table;
	std::multiset<key<N>> many;
	std::deque<key<N>> queue;
	std::istringstream in(text);
	std::string word;
	long n = N;
	while (in >> word) {
		key<N> k{word, {n++}};
		tree[k].push_back(word + word);
		table[k].push_front(n);
		many.insert(k);
		queue.push_back(k);
		if (n % 5 == N % 5)
			queue.push_front(std::move(k));
	}
	std::stable_sort(queue.begin(), queue.end());
	std::sort(queue.rbegin(), queue.rend(), [](const key<N> &a, const key<N> &b) { return b.name < a.name; });
	queue.erase(std::unique(queue.begin(), queue.end()), queue.end());
	std::vector<std::variant<long, std::string, key<N>>> values;
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
			else if constexpr (std::is_same_v<std::decay_t<decltype(x)>, std::string>)
				return x.size();
			else
				return x.rank[0] + x.name.size();
		}, v);
	std::function<long(long)> f = [&](long x) { return x > 3 ? sum + x : (long)table.size(); };
	auto b = std::make_shared<box<N>>();
	b->keys.assign(queue.begin(), queue.end());
	b->inner = std::make_shared<box<N>>(*b);
	try {
		if (many.size() % 7 == 3)
			throw key<N>{text, {sum}};
		sum += f(b->area(2));
	} catch (const key<N> &k) {
		sum -= k.rank[0];
	}
	return sum + table.size();
}
#ifndef SMALL
long matches(const std::string &text)
{
	std::basic_regex<char, traits> re("(a|b)*([[:alpha:]]+)\\s*=\\s*(.*)");
	std::match_results<std::string::const_iterator> m;
	return std::regex_search(text, m, re) ? m.size() : 0;
}
#endif
}

long run1(const std::string &s)
{
	using namespace unit1;
	long n = work<1>(s);
#ifndef SMALL
	n += work<2>(s) + work<3>(s) + work<4>(s) + work<5>(s) + work<6>(s) + matches(s);
#endif
	return n;
}
