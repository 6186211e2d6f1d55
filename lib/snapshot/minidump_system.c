#include "lib/snapshot/minidump.h"

#include <stdio.h>

// Offsets in MINIDUMP_SYSTEM_INFO.
enum {
	SYS_ARCH = 0, SYS_LEVEL = 2, SYS_REVISION = 4, SYS_CPUS = 6, SYS_MAJOR = 8,
	SYS_MINOR = 12, SYS_BUILD = 16, SYS_PLATFORM = 20, SYS_CSD = 24, SYS_CPU_INFO = 32,
	SYS_NEEDED = 28, SYS_SIZE = 56,
};

static enum fw_cpu_id cpu_of(uint16_t arch)
{
	switch (arch) {
	case MD_ARCH_X86:
	case MD_ARCH_X86_ON_WIN64:
		return FW_CPU_X86;
	case MD_ARCH_AMD64:
		return FW_CPU_AMD64;
	case MD_ARCH_ARM:
		return FW_CPU_ARM;
	case MD_ARCH_ARM64:
	case MD_ARCH_ARM64_OLD:
		return FW_CPU_ARM64;
	case MD_ARCH_PPC:
		return FW_CPU_PPC;
	case MD_ARCH_PPC64:
		return FW_CPU_PPC64;
	case MD_ARCH_SPARC:
		return FW_CPU_SPARC;
	case MD_ARCH_MIPS:
		return FW_CPU_MIPS;
	case MD_ARCH_MIPS64:
		return FW_CPU_MIPS64;
	case MD_ARCH_RISCV32:
		return FW_CPU_RISCV32;
	case MD_ARCH_RISCV64:
		return FW_CPU_RISCV64;
	}
	return FW_CPU_UNKNOWN;
}

static enum fw_os os_of(uint32_t platform)
{
	switch (platform) {
	case 0:		// Win32s
	case 1:		// Windows 95, 98, Me
	case 2:		// Windows NT
	case 3:		// Windows CE
		return FW_OS_WINDOWS;
	case 0x8101:
		return FW_OS_MACOS;
	case 0x8102:
		return FW_OS_IOS;
	case 0x8201:
		return FW_OS_LINUX;
	case 0x8202:
		return FW_OS_SOLARIS;
	case 0x8203:
		return FW_OS_ANDROID;
	case 0x8204:
		return FW_OS_PS3;
	case 0x8205:
		return FW_OS_NACL;
	case 0x8206:
		return FW_OS_FUCHSIA;
	}
	return FW_OS_UNKNOWN;
}

static void append(char *buffer, size_t size, const char *text)
{
	size_t used = strlen(buffer);
	snprintf(buffer + used, size - used, "%s", text);
}

// Breakpad's words for the main ID register and the hwcaps (GetARMCpuInfo in
// minidump_processor.cc), so that both tools print one string.
static void arm_cpu_info(const struct fw_bytes *b, char *out, size_t size)
{
	static const struct { uint32_t id; const char *name; } vendors[] = {
		{ 0x41, "ARM" }, { 0x51, "Qualcomm" }, { 0x56, "Marvell" },
		{ 0x69, "Intel/Marvell" },
	}, parts[] = {
		{ 0x4100c050, "Cortex-A5" }, { 0x4100c080, "Cortex-A8" },
		{ 0x4100c090, "Cortex-A9" }, { 0x4100c0f0, "Cortex-A15" },
		{ 0x4100c140, "Cortex-R4" }, { 0x4100c150, "Cortex-R5" },
		{ 0x4100b360, "ARM1136" }, { 0x4100b560, "ARM1156" },
		{ 0x4100b760, "ARM1176" }, { 0x4100b020, "ARM11-MPCore" },
		{ 0x41009260, "ARM926" }, { 0x41009460, "ARM946" },
		{ 0x41009660, "ARM966" }, { 0x510006f0, "Krait" },
		{ 0x510000f0, "Scorpion" },
	};
	static const char *const features[] = {	// by bit, asm/hwcap.h
		"swp", "half", "thumb", "26bit", "fastmult", "fpa", "vfpv2", "edsp", "java",
		"iwmmxt", "crunch", "thumbee", "neon", "vfpv3", "vfpv3d16", "tls", "vfpv4",
		"idiva", "idivt",
	};
	uint32_t cpuid = md_u32(b, SYS_CPU_INFO), hwcaps = md_u32(b, SYS_CPU_INFO + 4);
	char word[32];
	snprintf(out, size, "ARMv%u", md_u16(b, SYS_LEVEL));
	if (cpuid) {
		uint32_t vendor = cpuid >> 24, part = cpuid & 0xff00fff0;
		snprintf(word, sizeof(word), " vendor(0x%x)", vendor);
		for (size_t i = 0; i < sizeof(vendors) / sizeof(vendors[0]); i++)
			if (vendors[i].id == vendor)
				snprintf(word, sizeof(word), " %s", vendors[i].name);
		append(out, size, word);
		snprintf(word, sizeof(word), " part(0x%x)", part);
		for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
			if (parts[i].id == part)
				snprintf(word, sizeof(word), " %s", parts[i].name);
		append(out, size, word);
	}
	if (hwcaps) {
		const char *before = " features: ";
		for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++) {
			if (!(hwcaps >> i & 1))
				continue;
			append(out, size, before);
			append(out, size, features[i]);
			before = ",";
		}
	}
}

static void x86_cpu_info(const struct fw_bytes *b, bool amd64, char *out, size_t size)
{
	// cpuid leaf 0: three registers of four characters, low byte first.
	char vendor[13] = "";
	// On amd64 writers differ: some put feature bits here. The peers print none.
	bool printable = b->size >= SYS_CPU_INFO + 12 && !amd64;
	for (unsigned i = 0; i < 12 && printable; i++) {
		uint32_t word = md_u32(b, SYS_CPU_INFO + i / 4 * 4);
		vendor[i] = (char)(word >> (i % 4 * 8));
		printable = vendor[i] >= 0x20 && vendor[i] < 0x7f;
	}
	uint16_t revision = md_u16(b, SYS_REVISION);
	snprintf(out, size, "%s%sfamily %u model %u stepping %u", printable ? vendor : "",
		 printable ? " " : "", md_u16(b, SYS_LEVEL), revision >> 8, revision & 0xff);
}

// Breakpad's Linux writers put 0.0.0 and leave everything to `uname -srvmo`:
// "Linux 4.4.0-21-generic #37-Ubuntu SMP ... x86_64".
static void linux_version(struct fw_snapshot *s)
{
	struct fw_str word, release;
	if (!s->os_build.s)
		return;
	struct fw_text t = { s->os_build.s, s->os_build.s + s->os_build.n };
	if (!fw_text_token(&t, &word) || !fw_text_token(&t, &release))
		return;
	s->os_version = release;
	s->os_version_from_build = true;
}

static void read_versions(struct md_reader *md, const struct fw_bytes *b)
{
	struct fw_snapshot *s = md->s;
	char text[40];
	uint32_t major = md_u32(b, SYS_MAJOR), minor = md_u32(b, SYS_MINOR);
	uint32_t build = md_u32(b, SYS_BUILD), csd = md_u32(b, SYS_CSD);
	int n = snprintf(text, sizeof(text), "%u.%u.%u", major, minor, build);
	s->os_version = md_strdup(md, text, (size_t)n);
	if (csd)
		s->os_build = md_string(md, "SystemInfo", MD_NO_INDEX, "version text", csd);
	if (s->os_build.n == 0)
		s->os_build = (struct fw_str){ NULL, 0 };
	if ((s->os == FW_OS_LINUX || s->os == FW_OS_ANDROID) && !major && !minor && !build)
		linux_version(s);
}

bool md_read_system_info(struct md_reader *md)
{
	struct fw_snapshot *s = md->s;
	struct fw_bytes b;
	char cpu_info[256] = "";
	if (!md_stream(md, MD_SYSTEM_INFO, &b) || b.size < SYS_NEEDED)
		return false;
	if (b.size < SYS_SIZE)
		md_note(md, "SystemInfo", MD_NO_INDEX, "%llu of %d bytes",
			(unsigned long long)b.size, SYS_SIZE);
	s->cpu_raw = md_u16(&b, SYS_ARCH);
	s->cpu = fw_cpu_get(cpu_of(s->cpu_raw));
	s->cpu_count = b.data[SYS_CPUS];
	s->os_raw = md_u32(&b, SYS_PLATFORM);
	s->os = os_of(s->os_raw);
	read_versions(md, &b);
	if (s->cpu->id == FW_CPU_X86 || s->cpu->id == FW_CPU_AMD64)
		x86_cpu_info(&b, s->cpu->id == FW_CPU_AMD64, cpu_info, sizeof(cpu_info));
	else if (s->cpu->id == FW_CPU_ARM)
		arm_cpu_info(&b, cpu_info, sizeof(cpu_info));
	if (cpu_info[0])
		s->cpu_info = md_strdup(md, cpu_info, strlen(cpu_info));
	return true;
}

void md_read_misc_info(struct md_reader *md)
{
	enum { MISC_PROCESS_ID = 1, MISC_PROCESS_TIMES = 2 };
	struct fw_snapshot *s = md->s;
	struct fw_bytes b;
	if (!md_stream(md, MD_MISC_INFO, &b))
		return;
	uint32_t flags = md_u32(&b, 4);
	// A field counts where its flag is set and the stream reaches that far.
	s->have_pid = flags & MISC_PROCESS_ID && fw_bytes_u32(&b, 8, &s->pid);
	s->have_create_time = flags & MISC_PROCESS_TIMES &&
		fw_bytes_u32(&b, 12, &s->create_time);
}
