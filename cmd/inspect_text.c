#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "cmd/inspect.h"

static void write_safe(struct fw_out *out, struct fw_str s)
{
	if (s.s != NULL)
		fw_out_safe(out, s.s, s.n);
}

/** "  name      value\n"; nothing when the capture does not say. */
static void write_field(struct fw_out *out, const char *name, struct fw_str value)
{
	if (value.s == NULL || value.n == 0)
		return;
	fw_out_printf(out, "  %-14s ", name);
	write_safe(out, value);
	fw_out_byte(out, '\n');
}

static void write_time(struct fw_out *out, const char *name, uint32_t seconds)
{
	time_t t = (time_t)seconds;
	struct tm tm;
	char text[40];
	if (gmtime_r(&t, &tm) != NULL && strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &tm))
		write_field(out, name, (struct fw_str){ text, strlen(text) });
}

static void write_address(const struct fw_inspect *in, uint64_t address, struct fw_out *out)
{
	fw_out_lit(out, "0x");
	fw_out_hex(out, address, in->digits);
}

static void write_range(const struct fw_inspect *in, uint64_t start, uint64_t end,
			struct fw_out *out)
{
	write_address(in, start, out);
	fw_out_byte(out, '-');
	write_address(in, end, out);
}

static void write_title(struct fw_out *out, const char *title, uint64_t count)
{
	fw_out_printf(out, "\n%s (%" PRIu64 ")\n", title, count);
}

static void write_system(const struct fw_inspect *in, struct fw_out *out)
{
	const struct fw_snapshot *s = in->snapshot;
	char buffer[16];

	fw_out_safe(out, in->path, strlen(in->path));
	fw_out_printf(out, ": %s, %s endian, %" PRIu64 " bytes%s\n\nSystem\n", s->format,
		      s->big_endian ? "big" : "little", in->size,
		      in->compressed ? " unpacked" : "");
	fw_out_printf(out, "  %-14s %s", "os", fw_os_name(s, buffer));
	if (s->os_version.n) {
		fw_out_byte(out, ' ');
		write_safe(out, s->os_version);
	}
	fw_out_byte(out, '\n');
	write_field(out, "build", s->os_build);
	write_field(out, "distribution", s->lsb_description);
	fw_out_printf(out, "  %-14s %s", "cpu", s->cpu->name);
	if (s->cpu->id == FW_CPU_UNKNOWN)
		fw_out_printf(out, " (0x%04x)", s->cpu_raw);
	if (s->cpu_count)
		fw_out_printf(out, ", %u of them", s->cpu_count);
	fw_out_byte(out, '\n');
	write_field(out, "cpu model", s->cpu_info);
	write_field(out, "microcode", s->cpu_microcode);
	if (s->timestamp)
		write_time(out, "captured", s->timestamp);
	if (s->have_pid)
		fw_out_printf(out, "  %-14s %u\n", "process", s->pid);
	if (s->have_create_time)
		write_time(out, "started", s->create_time);
	write_field(out, "command line", s->command_line);
	write_field(out, "boot arguments", s->mac_boot_args);
	if (s->have_entry)
		fw_out_printf(out, "  %-14s 0x%" PRIx64 "\n", "entry point", s->entry);
	if (s->vdso)
		fw_out_printf(out, "  %-14s 0x%" PRIx64 "\n", "vdso", s->vdso);
	write_field(out, "crashpad report",
		    (struct fw_str){ s->crashpad_report_id.text, s->crashpad_report_id.n });
	write_field(out, "crashpad client",
		    (struct fw_str){ s->crashpad_client_id.text, s->crashpad_client_id.n });
}

static void write_exception(const struct fw_inspect *in, struct fw_out *out)
{
	const struct fw_exception *e = &in->snapshot->exception;

	if (!e->present) {
		fw_out_lit(out, "\nException: none recorded\n");
		return;
	}
	fw_out_lit(out, "\nException\n");
	write_field(out, "reason", (struct fw_str){ in->reason, strlen(in->reason) });
	fw_out_printf(out, "  %-14s ", "address");
	write_address(in, in->crash_address, out);
	fw_out_printf(out, "\n  %-14s %u\n", "thread", e->thread_id);
	fw_out_printf(out, "  %-14s 0x%08x, flags 0x%08x\n", "code", e->code, e->flags);
	for (uint32_t i = 0; i < e->num_parameters && i < 15; i++)
		fw_out_printf(out, "  %-14s 0x%" PRIx64 "\n", "parameter", e->parameters[i]);
	write_field(out, "assertion", e->assertion);
	write_field(out, "in function", e->assertion_function);
	write_field(out, "in file", e->assertion_file);
}

static void write_streams(const struct fw_inspect *in, struct fw_out *out)
{
	const struct fw_snapshot *s = in->snapshot;

	write_title(out, "Streams", s->num_streams);
	for (uint32_t i = 0; i < s->num_streams; i++) {
		const struct fw_stream_info *t = &s->streams[i];
		fw_out_printf(out, "  0x%08x %-24s %10" PRIu64 " bytes at 0x%08" PRIx64 "%s\n",
			      t->type, t->name ? t->name : "unknown", t->size, t->offset,
			      t->used ? "" : ", not read");
	}
}

static void write_register(const struct fw_inspect *in, const struct fw_thread_info *t,
			   const char *name, uint8_t reg, struct fw_out *out)
{
	if (reg == FW_NO_REG || !fw_regs_has(&t->regs, reg))
		return;
	fw_out_printf(out, ", %s ", name);
	write_address(in, t->regs.v[reg], out);
}

static void write_thread(const struct fw_inspect *in, uint32_t index, struct fw_out *out)
{
	const struct fw_snapshot *s = in->snapshot;
	const struct fw_thread_info *t = &s->threads[index];

	fw_out_printf(out, "  #%u id %u", index, t->id);
	if (t->name.n) {
		fw_out_lit(out, " \"");
		write_safe(out, t->name);
		fw_out_lit(out, "\"");
	}
	if (t->have_context) {
		write_register(in, t, "pc", s->cpu->pc, out);
		write_register(in, t, "sp", s->cpu->sp, out);
	} else {
		fw_out_printf(out, ", no registers: %s",
			      t->context_error ? t->context_error : "not in the capture");
	}
	if (t->stack_size) {
		fw_out_lit(out, ", stack ");
		write_range(in, t->stack_start, t->stack_start + t->stack_size, out);
	}
	if (index == s->crashing_thread)
		fw_out_cstr(out, s->crashed ? ", crashed" : ", requested");
	if (t->is_dump_writer)
		fw_out_lit(out, ", writes the dump");
	if (t->have_last_error)
		fw_out_printf(out, ", last error 0x%08x", t->last_error);
	fw_out_byte(out, '\n');
}

static void write_annotations(const struct fw_annotation *a, uint32_t count, const char *indent,
			      struct fw_out *out)
{
	for (uint32_t i = 0; i < count; i++) {
		fw_out_cstr(out, indent);
		write_safe(out, a[i].key);
		fw_out_lit(out, " = ");
		write_safe(out, a[i].value);
		fw_out_byte(out, '\n');
	}
}

static void write_module(const struct fw_inspect *in, const struct fw_module_info *m,
			 struct fw_out *out)
{
	fw_out_lit(out, "  ");
	write_range(in, m->base, m->base + m->size, out);
	fw_out_byte(out, ' ');
	write_safe(out, m->code_file);
	if (m->version.n) {
		fw_out_lit(out, " version ");
		write_safe(out, m->version);
	}
	if (m->is_main)
		fw_out_lit(out, " (main)");
	fw_out_printf(out, "\n    debug id %s, code id %s",
		      m->debug_id.n ? m->debug_id.text : "none",
		      m->code_id.n ? m->code_id.text : "none");
	if (m->debug_file.n && (m->debug_file.n != m->code_file.n ||
				memcmp(m->debug_file.s, m->code_file.s, m->debug_file.n) != 0)) {
		fw_out_lit(out, ", debug file ");
		write_safe(out, m->debug_file);
	}
	fw_out_byte(out, '\n');
	write_annotations(m->annotations, m->num_annotations, "    ", out);
}

static void write_modules(const struct fw_inspect *in, struct fw_out *out)
{
	const struct fw_snapshot *s = in->snapshot;

	write_title(out, "Modules", s->num_modules);
	for (uint32_t i = 0; i < s->num_modules; i++)
		write_module(in, &s->modules[i], out);
	if (s->num_unloaded)
		write_title(out, "Unloaded modules", s->num_unloaded);
	for (uint32_t i = 0; i < s->num_unloaded; i++) {
		const struct fw_unloaded_module *m = &s->unloaded[i];
		fw_out_lit(out, "  ");
		write_range(in, m->base, m->base + m->size, out);
		fw_out_byte(out, ' ');
		write_safe(out, m->code_file);
		fw_out_byte(out, '\n');
	}
}

static void write_memory(const struct fw_inspect *in, struct fw_out *out)
{
	const struct fw_snapshot *s = in->snapshot;
	uint64_t total = 0;

	for (uint32_t i = 0; i < s->memory.count; i++)
		total += s->memory.segments[i].size;
	fw_out_printf(out, "\nMemory (%u, %" PRIu64 " bytes)\n", s->memory.count, total);
	for (uint32_t i = 0; i < s->memory.count; i++) {
		const struct fw_segment *m = &s->memory.segments[i];
		fw_out_lit(out, "  ");
		write_range(in, m->start, m->start + m->size, out);
		fw_out_printf(out, " %" PRIu64 " bytes\n", m->size);
	}
	if (s->num_regions)
		write_title(out, s->regions_complete ? "Regions" : "Regions, not all",
			    s->num_regions);
	for (uint32_t i = 0; i < s->num_regions; i++) {
		const struct fw_region *r = &s->regions[i];
		char buffer[4];
		fw_out_lit(out, "  ");
		write_range(in, r->start, r->end, out);
		fw_out_printf(out, " %-3s", fw_inspect_permissions(r, buffer));
		if (r->name.n) {
			fw_out_printf(out, " 0x%08" PRIx64 " ", r->file_offset);
			write_safe(out, r->name);
		}
		fw_out_byte(out, '\n');
	}
}

static void write_rest(const struct fw_inspect *in, struct fw_out *out)
{
	const struct fw_snapshot *s = in->snapshot;

	if (s->num_annotations)
		write_title(out, "Annotations", s->num_annotations);
	write_annotations(s->annotations, s->num_annotations, "  ", out);

	if (s->num_limits)
		write_title(out, "Limits", s->num_limits);
	for (uint32_t i = 0; i < s->num_limits; i++) {
		const struct fw_limit_info *l = &s->limits[i];
		const struct fw_str parts[] = { l->name, FW_STR(": soft "), l->soft,
						FW_STR(", hard "), l->hard, FW_STR(" "), l->unit };
		fw_out_lit(out, "  ");
		for (size_t k = 0; k < sizeof(parts) / sizeof(parts[0]) - (l->unit.n ? 0 : 2); k++)
			write_safe(out, parts[k]);
		fw_out_byte(out, '\n');
	}

	if (s->have_handles)
		write_title(out, "Handles", s->num_handles);
	for (uint32_t i = 0; i < s->num_handles; i++) {
		const struct fw_handle_info *h = &s->handles[i];
		fw_out_printf(out, "  0x%" PRIx64 " ", h->handle);
		write_safe(out, h->type_name);
		fw_out_byte(out, ' ');
		write_safe(out, h->object_name);
		fw_out_byte(out, '\n');
	}

	if (s->num_notes)
		write_title(out, "Left out", s->num_notes);
	for (uint32_t i = 0; i < s->num_notes && i < FW_MAX_SNAPSHOT_NOTES; i++) {
		const struct fw_snapshot_note *n = &s->notes[i];
		fw_out_lit(out, "  ");
		fw_out_safe(out, n->place, strlen(n->place));
		fw_out_cstr(out, n->place[0] ? ": " : "");
		fw_out_safe(out, n->message, strlen(n->message));
		fw_out_byte(out, '\n');
	}
	if (s->num_notes > FW_MAX_SNAPSHOT_NOTES)
		fw_out_lit(out, "  ...\n");
}

void fw_inspect_write_text(const struct fw_inspect *in, struct fw_out *out)
{
	const struct fw_snapshot *s = in->snapshot;

	write_system(in, out);
	write_exception(in, out);
	write_streams(in, out);
	write_title(out, "Threads", s->num_threads);
	for (uint32_t i = 0; i < s->num_threads; i++)
		write_thread(in, i, out);
	write_modules(in, out);
	write_memory(in, out);
	write_rest(in, out);
}
