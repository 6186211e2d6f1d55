// A call through a function pointer that is null (no argument) or points to
// memory that is not mapped.
#include "report.h"

#include <stdint.h>

typedef int (*callback)(int);

struct plugin {
	const char *name;
	callback start;
};

__attribute__((noinline)) static int start_plugin(const struct plugin *plugin, int flags)
{
	int result = plugin->start(flags + 1);

	KEEP_FRAME();
	return result + flags;
}

__attribute__((noinline)) static int start_all(const struct plugin *plugins, int count)
{
	int sum = 0;

	for (int i = 0; i < count; i++)
		sum += start_plugin(&plugins[i], i);
	return sum;
}

static int good(int flags)
{
	return flags;
}

int main(int argc, char **argv)
{
	struct plugin plugins[2] = {
		{ "good", good },
		{ "bad", argc > 1 ? (callback)(uintptr_t)0x13370000 : (callback)0 },
	};

	report_install();
	return start_all(plugins, 2) + argc;
}
