// Perf maps of hostile bytes: everything in them is looked up.
#include <stdlib.h>

#include "lib/report/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t sum;	// so that reading is not optimised away

static void look_up(const struct fw_perf_map *m, uint64_t address)
{
	struct fw_str name;
	uint64_t start;
	if (!fw_perf_map_find(m, address, &name, &start))
		return;
	if (start > address || name.n == 0)
		abort();
	for (size_t i = 0; i < name.n; i++)
		sum += (uint8_t)name.s[i];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fw_perf_map *m;
	struct fw_error err = { 0 };
	if (fw_perf_map_parse((const char *)data, size, &m, &err) != FW_OK) {
		if (!err.message[0])
			abort();
		return 0;
	}
	for (uint64_t address = 0; address < 0x3000; address += 0x77)
		look_up(m, address);
	for (size_t i = 0; i + 8 <= size && i < 4096; i++) {	// what stands at line starts
		struct fw_text t = { (const char *)data + i, (const char *)data + size };
		uint64_t address;
		if (fw_text_hex(&t, &address))
			look_up(m, address);
	}
	fw_perf_map_close(m);
	return 0;
}
