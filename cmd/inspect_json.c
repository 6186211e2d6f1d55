// Every key is always there, null where the capture does not say.
#include <string.h>

#include "cmd/inspect.h"
#include "lib/base/json.h"
#include "lib/report/report.h"

static void put_hex(struct fw_json *j, const struct fw_inspect *in, uint64_t v)
{
	fw_json_hex(j, v, in->digits);
}

static void put_ident(struct fw_json *j, const struct fw_ident *id)
{
	if (id->n)
		fw_json_string(j, id->text, id->n);
	else
		fw_json_null(j);
}

#define HEX(key, value) (fw_json_key(j, key), put_hex(j, in, value))
#define ID(key, value) (fw_json_key(j, key), put_ident(j, value))
#define NUM_OR_NULL(key, have, value) \
	(fw_json_key(j, key), (have) ? fw_json_u64(j, value) : fw_json_null(j))
#define HEX_OR_NULL(key, have, value) \
	(fw_json_key(j, key), (have) ? put_hex(j, in, value) : fw_json_null(j))

static void put_system(struct fw_json *j, const struct fw_inspect *in)
{
	const struct fw_snapshot *s = in->snapshot;
	char buffer[16];

	fw_json_key(j, "system");
	fw_json_begin_object(j);
	fw_json_put_cstr(j, "os", fw_os_name(s, buffer));
	fw_json_put_str(j, "os_version", s->os_version);
	fw_json_put_str(j, "os_build", s->os_build);
	fw_json_put_cstr(j, "cpu", s->cpu->name);
	NUM_OR_NULL("cpu_count", s->cpu_count != 0, s->cpu_count);
	fw_json_put_str(j, "cpu_info", s->cpu_info);
	fw_json_put_str(j, "cpu_microcode", s->cpu_microcode);
	fw_json_put_str(j, "lsb_id", s->lsb_id);
	fw_json_put_str(j, "lsb_release", s->lsb_release);
	fw_json_put_str(j, "lsb_codename", s->lsb_codename);
	fw_json_put_str(j, "lsb_description", s->lsb_description);
	fw_json_put_str(j, "boot_args", s->mac_boot_args);
	fw_json_end_object(j);

	fw_json_key(j, "process");
	fw_json_begin_object(j);
	NUM_OR_NULL("pid", s->have_pid, s->pid);
	NUM_OR_NULL("create_time", s->have_create_time, s->create_time);
	fw_json_put_str(j, "command_line", s->command_line);
	HEX_OR_NULL("entry", s->have_entry, s->entry);
	HEX_OR_NULL("vdso", s->vdso != 0, s->vdso);
	ID("crashpad_report_id", &s->crashpad_report_id);
	ID("crashpad_client_id", &s->crashpad_client_id);
	fw_json_end_object(j);
}

static void put_exception(struct fw_json *j, const struct fw_inspect *in)
{
	const struct fw_exception *e = &in->snapshot->exception;

	fw_json_key(j, "exception");
	if (!e->present) {
		fw_json_null(j);
		return;
	}
	fw_json_begin_object(j);
	fw_json_put_cstr(j, "reason", in->reason);
	HEX("address", in->crash_address);
	HEX("recorded_address", e->address);
	fw_json_put_u64(j, "thread_id", e->thread_id);
	fw_json_key(j, "code"), fw_json_hex(j, e->code, 8);
	fw_json_key(j, "flags"), fw_json_hex(j, e->flags, 8);
	fw_json_key(j, "parameters");
	fw_json_begin_array(j);
	for (uint32_t i = 0; i < e->num_parameters && i < 15; i++)
		fw_json_hex(j, e->parameters[i], 16);
	fw_json_end_array(j);
	fw_json_put_str(j, "assertion", e->assertion);
	fw_json_put_str(j, "assertion_function", e->assertion_function);
	fw_json_put_str(j, "assertion_file", e->assertion_file);
	NUM_OR_NULL("assertion_line", e->assertion_line != 0, e->assertion_line);
	fw_json_end_object(j);
}

static void put_streams(struct fw_json *j, const struct fw_inspect *in)
{
	const struct fw_snapshot *s = in->snapshot;

	fw_json_key(j, "streams");
	fw_json_begin_array(j);
	for (uint32_t i = 0; i < s->num_streams; i++) {
		const struct fw_stream_info *t = &s->streams[i];
		fw_json_begin_object(j);
		fw_json_key(j, "type"), fw_json_hex(j, t->type, 8);
		fw_json_put_cstr(j, "name", t->name);
		fw_json_put_u64(j, "offset", t->offset);
		fw_json_put_u64(j, "size", t->size);
		fw_json_put_bool(j, "read", t->used);
		fw_json_end_object(j);
	}
	fw_json_end_array(j);
}

static void put_threads(struct fw_json *j, const struct fw_inspect *in)
{
	const struct fw_snapshot *s = in->snapshot;

	fw_json_key(j, "threads");
	fw_json_begin_array(j);
	for (uint32_t i = 0; i < s->num_threads; i++) {
		const struct fw_thread_info *t = &s->threads[i];
		bool pc = t->have_context && s->cpu->pc != FW_NO_REG &&
			  fw_regs_has(&t->regs, s->cpu->pc);
		bool sp = t->have_context && s->cpu->sp != FW_NO_REG &&
			  fw_regs_has(&t->regs, s->cpu->sp);
		fw_json_begin_object(j);
		fw_json_put_u64(j, "index", i);
		fw_json_put_u64(j, "thread_id", t->id);
		fw_json_put_str(j, "thread_name", t->name);
		fw_json_put_bool(j, "crashing", i == s->crashing_thread);
		fw_json_put_bool(j, "dump_writer", t->is_dump_writer);
		HEX_OR_NULL("pc", pc, t->regs.v[s->cpu->pc]);
		HEX_OR_NULL("sp", sp, t->regs.v[s->cpu->sp]);
		fw_json_key(j, "context_error");
		fw_json_cstr(j, t->have_context ? NULL : t->context_error);
		HEX_OR_NULL("stack_start", t->stack_size != 0, t->stack_start);
		fw_json_put_u64(j, "stack_size", t->stack_size);
		HEX_OR_NULL("teb", t->teb != 0, t->teb);
		NUM_OR_NULL("last_error", t->have_last_error, t->last_error);
		fw_json_end_object(j);
	}
	fw_json_end_array(j);
}

static void put_annotations(struct fw_json *j, const struct fw_annotation *a, uint32_t count)
{
	fw_json_key(j, "annotations");
	fw_json_begin_array(j);
	for (uint32_t i = 0; i < count; i++) {
		fw_json_begin_object(j);
		fw_json_put_str(j, "key", a[i].key);
		fw_json_put_str(j, "value", a[i].value);
		fw_json_end_object(j);
	}
	fw_json_end_array(j);
}

static void put_modules(struct fw_json *j, const struct fw_inspect *in)
{
	const struct fw_snapshot *s = in->snapshot;

	fw_json_key(j, "modules");
	fw_json_begin_array(j);
	for (uint32_t i = 0; i < s->num_modules; i++) {
		const struct fw_module_info *m = &s->modules[i];
		fw_json_begin_object(j);
		HEX("base", m->base);
		fw_json_put_u64(j, "size", m->size);
		fw_json_put_str(j, "code_file", m->code_file);
		ID("code_id", &m->code_id);
		fw_json_put_str(j, "debug_file", m->debug_file);
		ID("debug_id", &m->debug_id);
		fw_json_put_str(j, "version", m->version);
		fw_json_put_bool(j, "main", m->is_main);
		put_annotations(j, m->annotations, m->num_annotations);
		fw_json_end_object(j);
	}
	fw_json_end_array(j);

	fw_json_key(j, "unloaded_modules");
	fw_json_begin_array(j);
	for (uint32_t i = 0; i < s->num_unloaded; i++) {
		const struct fw_unloaded_module *m = &s->unloaded[i];
		fw_json_begin_object(j);
		HEX("base", m->base);
		fw_json_put_u64(j, "size", m->size);
		fw_json_put_str(j, "code_file", m->code_file);
		ID("code_id", &m->code_id);
		fw_json_end_object(j);
	}
	fw_json_end_array(j);
}

static void put_memory(struct fw_json *j, const struct fw_inspect *in)
{
	const struct fw_snapshot *s = in->snapshot;

	fw_json_key(j, "memory");
	fw_json_begin_array(j);
	for (uint32_t i = 0; i < s->memory.count; i++) {
		fw_json_begin_object(j);
		HEX("start", s->memory.segments[i].start);
		fw_json_put_u64(j, "size", s->memory.segments[i].size);
		fw_json_end_object(j);
	}
	fw_json_end_array(j);

	fw_json_put_bool(j, "regions_complete", s->regions_complete);
	fw_json_key(j, "regions");
	fw_json_begin_array(j);
	for (uint32_t i = 0; i < s->num_regions; i++) {
		const struct fw_region *r = &s->regions[i];
		char buffer[4];
		fw_json_begin_object(j);
		HEX("start", r->start);
		HEX("end", r->end);
		fw_json_key(j, "permissions");
		fw_json_cstr(j, r->permissions & FW_PERM_KNOWN ? fw_inspect_permissions(r, buffer)
							       : NULL);
		fw_json_put_u64(j, "file_offset", r->file_offset);
		fw_json_put_str(j, "name", r->name);
		fw_json_end_object(j);
	}
	fw_json_end_array(j);
}

static void put_rest(struct fw_json *j, const struct fw_inspect *in)
{
	const struct fw_snapshot *s = in->snapshot;

	put_annotations(j, s->annotations, s->num_annotations);

	fw_json_key(j, "limits");
	fw_json_begin_array(j);
	for (uint32_t i = 0; i < s->num_limits; i++) {
		fw_json_begin_object(j);
		fw_json_put_str(j, "name", s->limits[i].name);
		fw_json_put_str(j, "soft", s->limits[i].soft);
		fw_json_put_str(j, "hard", s->limits[i].hard);
		fw_json_put_str(j, "unit", s->limits[i].unit);
		fw_json_end_object(j);
	}
	fw_json_end_array(j);

	fw_json_key(j, "handles");
	if (s->have_handles) {
		fw_json_begin_array(j);
		for (uint32_t i = 0; i < s->num_handles; i++) {
			fw_json_begin_object(j);
			fw_json_key(j, "handle"), fw_json_hex(j, s->handles[i].handle, in->digits);
			fw_json_put_str(j, "type_name", s->handles[i].type_name);
			fw_json_put_str(j, "object_name", s->handles[i].object_name);
			fw_json_end_object(j);
		}
		fw_json_end_array(j);
	} else {
		fw_json_null(j);
	}

	fw_json_put_u64(j, "notes_total", s->num_notes);
	fw_json_key(j, "notes");
	fw_json_begin_array(j);
	for (uint32_t i = 0; i < s->num_notes && i < FW_MAX_SNAPSHOT_NOTES; i++) {
		const struct fw_snapshot_note *n = &s->notes[i];
		fw_json_begin_object(j);
		fw_json_put_cstr(j, "place", n->place[0] ? n->place : NULL);
		fw_json_put_cstr(j, "message", n->message);
		fw_json_end_object(j);
	}
	fw_json_end_array(j);
}

void fw_inspect_write_json(const struct fw_inspect *in, bool pretty, struct fw_out *out)
{
	const struct fw_snapshot *s = in->snapshot;
	struct fw_json json, *j = &json;

	fw_json_init(j, out, pretty);
	fw_json_begin_object(j);
	fw_json_put_u64(j, "schema_version", FW_SCHEMA_VERSION);
	fw_json_put_cstr(j, "status", "OK");
	fw_json_put_cstr(j, "file", in->path);
	fw_json_put_cstr(j, "format", s->format);
	fw_json_put_bool(j, "big_endian", s->big_endian);
	fw_json_put_u64(j, "size", in->size);
	fw_json_put_bool(j, "compressed", in->compressed);
	NUM_OR_NULL("timestamp", s->timestamp != 0, s->timestamp);
	put_system(j, in);
	put_exception(j, in);
	put_streams(j, in);
	put_threads(j, in);
	put_modules(j, in);
	put_memory(j, in);
	put_rest(j, in);
	fw_json_end_object(j);
	fw_json_finish(j);
}
