#include "lib/snapshot/mac_reason.h"

#include <stdio.h>

enum {	// kinds in the flags
	RESOURCE_CPU = 1, RESOURCE_WAKEUPS, RESOURCE_MEMORY, RESOURCE_IO, RESOURCE_THREADS,
	GUARD_NONE = 0, GUARD_MACH_PORT, GUARD_FD, GUARD_USER, GUARD_VN, GUARD_VIRT_MEMORY,
	EXC_RESOURCE = 11,
};

static const struct kind {
	bool resource;
	uint8_t kind;
	const char *name;
} kinds[] = {
	{ true, RESOURCE_CPU, "RESOURCE_TYPE_CPU" },
	{ true, RESOURCE_WAKEUPS, "RESOURCE_TYPE_WAKEUPS" },
	{ true, RESOURCE_MEMORY, "RESOURCE_TYPE_MEMORY" },
	{ true, RESOURCE_IO, "RESOURCE_TYPE_IO" },
	{ true, RESOURCE_THREADS, "RESOURCE_TYPE_THREADS" },
	{ false, GUARD_NONE, "GUARD_TYPE_NONE" },
	{ false, GUARD_MACH_PORT, "GUARD_TYPE_MACH_PORT" },
	{ false, GUARD_FD, "GUARD_TYPE_FD" },
	{ false, GUARD_USER, "GUARD_TYPE_USER" },
	{ false, GUARD_VN, "GUARD_TYPE_VN" },
	{ false, GUARD_VIRT_MEMORY, "GUARD_TYPE_VIRT_MEMORY" },
};

static const struct flavor {
	bool resource;
	uint8_t kind;
	uint32_t flavor;
	const char *name;
} flavors[] = {
	{ true, RESOURCE_CPU, 1, "FLAVOR_CPU_MONITOR" },
	{ true, RESOURCE_CPU, 2, "FLAVOR_CPU_MONITOR_FATAL" },
	{ true, RESOURCE_WAKEUPS, 1, "FLAVOR_WAKEUPS_MONITOR" },
	{ true, RESOURCE_MEMORY, 1, "FLAVOR_HIGH_WATERMARK" },
	{ true, RESOURCE_IO, 1, "FLAVOR_IO_PHYSICAL_WRITES" },
	{ true, RESOURCE_IO, 2, "FLAVOR_IO_LOGICAL_WRITES" },
	{ true, RESOURCE_THREADS, 1, "FLAVOR_THREADS_HIGH_WATERMARK" },
	{ false, GUARD_MACH_PORT, 0x1, "GUARD_EXC_DESTROY" },
	{ false, GUARD_MACH_PORT, 0x2, "GUARD_EXC_MOD_REFS" },
	{ false, GUARD_MACH_PORT, 0x4, "GUARD_EXC_SET_CONTEXT" },
	{ false, GUARD_MACH_PORT, 0x8, "GUARD_EXC_UNGUARDED" },
	{ false, GUARD_MACH_PORT, 0x10, "GUARD_EXC_INCORRECT_GUARD" },
	{ false, GUARD_MACH_PORT, 0x20, "GUARD_EXC_IMMOVABLE" },
	{ false, GUARD_MACH_PORT, 0x40, "GUARD_EXC_STRICT_REPLY" },
	{ false, GUARD_MACH_PORT, 0x80, "GUARD_EXC_MSG_FILTERED" },
	{ false, GUARD_MACH_PORT, 0x100, "GUARD_EXC_INVALID_RIGHT" },
	{ false, GUARD_MACH_PORT, 0x200, "GUARD_EXC_INVALID_NAME" },
	{ false, GUARD_MACH_PORT, 0x400, "GUARD_EXC_INVALID_VALUE" },
	{ false, GUARD_MACH_PORT, 0x800, "GUARD_EXC_INVALID_ARGUMENT" },
	{ false, GUARD_MACH_PORT, 0x1000, "GUARD_EXC_RIGHT_EXISTS" },
	{ false, GUARD_MACH_PORT, 0x2000, "GUARD_EXC_KERN_NO_SPACE" },
	{ false, GUARD_MACH_PORT, 0x4000, "GUARD_EXC_KERN_FAILURE" },
	{ false, GUARD_MACH_PORT, 0x8000, "GUARD_EXC_KERN_RESOURCE" },
	{ false, GUARD_MACH_PORT, 0x10000, "GUARD_EXC_SEND_INVALID_REPLY" },
	{ false, GUARD_MACH_PORT, 0x20000, "GUARD_EXC_SEND_INVALID_VOUCHER" },
	{ false, GUARD_MACH_PORT, 0x40000, "GUARD_EXC_SEND_INVALID_RIGHT" },
	{ false, GUARD_MACH_PORT, 0x80000, "GUARD_EXC_RCV_INVALID_NAME" },
	{ false, GUARD_MACH_PORT, 0x100000, "GUARD_EXC_RCV_GUARDED_DESC" },
	{ false, GUARD_MACH_PORT, 0x200000, "GUARD_EXC_MOD_REFS_NON_FATAL" },
	{ false, GUARD_MACH_PORT, 0x400000, "GUARD_EXC_IMMOVABLE_NON_FATAL" },
	{ false, GUARD_FD, 0x1, "GUARD_EXC_CLOSE" },
	{ false, GUARD_FD, 0x2, "GUARD_EXC_DUP" },
	{ false, GUARD_FD, 0x4, "GUARD_EXC_NOCLOEXEC" },
	{ false, GUARD_FD, 0x8, "GUARD_EXC_SOCKET_IPC" },
	{ false, GUARD_FD, 0x10, "GUARD_EXC_FILEPORT" },
	{ false, GUARD_FD, 0x20, "GUARD_EXC_MISMATCH" },
	{ false, GUARD_FD, 0x40, "GUARD_EXC_WRITE" },
	{ false, GUARD_VN, 0x1, "GUARD_EXC_RENAME_TO" },
	{ false, GUARD_VN, 0x2, "GUARD_EXC_RENAME_FROM" },
	{ false, GUARD_VN, 0x4, "GUARD_EXC_UNLINK" },
	{ false, GUARD_VN, 0x8, "GUARD_EXC_WRITE_OTHER" },
	{ false, GUARD_VN, 0x10, "GUARD_EXC_TRUNC_OTHER" },
	{ false, GUARD_VN, 0x20, "GUARD_EXC_LINK" },
	{ false, GUARD_VN, 0x40, "GUARD_EXC_EXCHDATA" },
	{ false, GUARD_VIRT_MEMORY, 0x1, "GUARD_EXC_DEALLOC_GAP" },
};

static unsigned long long bits(uint64_t value, unsigned shift, unsigned count)
{
	return value >> shift & ((UINT64_C(1) << count) - 1);
}

// The numbers behind a known flavor. CPU percentages are seven bits wide.
static void resource_numbers(unsigned kind, uint64_t code, uint64_t subcode, char *out, size_t n)
{
	switch (kind) {
	case RESOURCE_CPU:
		snprintf(out, n, " interval: %llus CPU limit: %llu%% CPU consumed: %llu%%",
			 bits(code, 7, 25), bits(code, 0, 7), bits(subcode, 0, 7));
		return;
	case RESOURCE_WAKEUPS:
		snprintf(out, n, " interval: %llus wakeups permitted: %llu wakeups observed: %llu",
			 bits(code, 20, 20), bits(code, 0, 12), bits(subcode, 0, 12));
		return;
	case RESOURCE_MEMORY:
		snprintf(out, n, " high watermark limit: %lluMiB", bits(code, 0, 13));
		return;
	case RESOURCE_IO:
		snprintf(out, n, " interval: %llus I/O limit: %lluMiB I/O observed: %lluMiB",
			 bits(code, 15, 17), bits(code, 0, 15), bits(subcode, 0, 15));
		return;
	case RESOURCE_THREADS:
		snprintf(out, n, " high watermark limit: %llu", bits(code, 0, 15));
		return;
	}
}

static void guard_numbers(unsigned kind, uint64_t code, uint64_t subcode, char *out, size_t n)
{
	static const char *const what[] = {
		[GUARD_MACH_PORT] = "port name", [GUARD_FD] = "file descriptor", [GUARD_VN] = "pid",
	};
	if (kind == GUARD_VIRT_MEMORY)
		snprintf(out, n, " offset: %llu", (unsigned long long)subcode);
	else
		snprintf(out, n, " %s: %llu guard identifier: %llu", what[kind], bits(code, 0, 28),
			 (unsigned long long)subcode);
}

void fw_mac_kernel_reason(const struct fw_exception *x, const char *name, char *buffer,
			  size_t n)
{
	bool resource = x->code == EXC_RESOURCE;
	unsigned kind = x->flags >> 29;
	uint64_t code = x->parameters[1], subcode = x->parameters[2];
	unsigned long long flavor = resource ? bits(code, 58, 3) : bits(code, 32, 29);
	const char *kind_name = NULL, *flavor_name = NULL;
	char numbers[96] = "";
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (kinds[i].resource == resource && kinds[i].kind == kind)
			kind_name = kinds[i].name;
	}
	for (size_t i = 0; i < sizeof(flavors) / sizeof(flavors[0]); i++) {
		const struct flavor *f = &flavors[i];
		if (f->resource == resource && f->kind == kind && f->flavor == flavor)
			flavor_name = f->name;
	}
	if (!kind_name) {
		snprintf(buffer, n, "%s / 0x%08x", name, x->flags);
	} else if (!resource && kind == GUARD_NONE) {
		snprintf(buffer, n, "%s / %s", name, kind_name);
	} else if (!resource && kind == GUARD_USER) {
		snprintf(buffer, n, "%s / %s / namespace: %llu guard identifier: %llu", name,
			 kind_name, bits(code, 0, 32), (unsigned long long)subcode);
	} else if (!flavor_name) {
		snprintf(buffer, n, "%s / %s / 0x%016llx / 0x%016llx", name, kind_name,
			 (unsigned long long)code, (unsigned long long)subcode);
	} else {
		if (resource)
			resource_numbers(kind, code, subcode, numbers, sizeof(numbers));
		else
			guard_numbers(kind, code, subcode, numbers, sizeof(numbers));
		snprintf(buffer, n, "%s / %s / %s%s", name, kind_name, flavor_name, numbers);
	}
}
