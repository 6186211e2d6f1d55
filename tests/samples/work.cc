// Two threads, virtual calls, templates, lambdas, exceptions, and what libstdc++ does for strings.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct shape {
	virtual ~shape() {}
	virtual double area(int n) const = 0;
};

template<int kind> struct round_shape : shape {
	double size;
	explicit round_shape(double s) : size(s) {}
	double area(int n) const override
	{
		double sum = 0;
		for (int i = 0; i < n; i++)
			sum += size * (size + kind) / (i + 1);
		if (sum < 0)
			throw std::runtime_error("negative");
		return sum;
	}
};

static volatile double sink;

static double risky(int n)
{
	if (n % 3 == 0)
		throw std::out_of_range(std::to_string(n));
	return n;
}

static void work(int rounds)
{
	std::map<std::string, int> names;
	std::vector<std::unique_ptr<shape>> shapes;
	for (int i = 0; i < 100; i++) {
		if (i % 2)
			shapes.emplace_back(new round_shape<1>(i));
		else
			shapes.emplace_back(new round_shape<2>(i));
	}
	for (int k = 0; k < rounds; k++) {
		for (int i = 0; i < 200; i++)
			names["key" + std::to_string(i * k % 997)] += i;
		double sum = 0;
		std::for_each(shapes.begin(), shapes.end(), [&](auto &s) { sum += s->area(200); });
		std::vector<std::string> sorted;
		for (auto &entry : names)
			sorted.push_back(entry.first);
		std::sort(sorted.begin(), sorted.end(), [](auto &a, auto &b) { return a > b; });
		for (int i = 0; i < 30; i++) {
			try {
				sum += risky(i);
			} catch (const std::exception &e) {
				sum += e.what()[0];
			}
		}
		sink = sink + sum;
	}
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 300;
	std::thread a(work, rounds), b(work, rounds);
	a.join();
	b.join();
	return 0;
}
