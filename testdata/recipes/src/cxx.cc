// C++: an exception that nobody catches, thrown below a template, a virtual
// function and an operator.
extern "C" {
#include "report.h"
}

#include <stdexcept>

namespace shop {

class Visitor {
public:
	virtual ~Visitor() = default;
	virtual int visit(const char *name, long price) = 0;
};

template <typename Value, int Scale>
__attribute__((noinline)) Value checked(Value value, const char *what)
{
	if (value < 0)
		throw std::range_error(what);
	return value * Scale;
}

class Total final : public Visitor {
public:
	inline Total &operator+=(long price)
	{
		sum = sum + checked<long, 3>(price, "price");
		return *this;
	}

	int visit(const char *name, long price) override
	{
		*this += price;
		return (int)sum + name[0];
	}

private:
	volatile long sum = 0;
};

__attribute__((noinline)) int for_each(Visitor &visitor, int count)
{
	int sum = 0;

	for (int i = 0; i < count; i++)
		sum += visitor.visit("item", 2 - i);
	return sum;
}

__attribute__((noinline)) Visitor *make_visitor()
{
	return new Total;
}

} // namespace shop

int main(int argc, char **)
{
	report_install();
	return shop::for_each(*shop::make_visitor(), argc + 4) + argc;
}
