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

#define STR(key, value) (fw_json_key(j, key), fw_json_str(j, value))
#define NUM(key, value) (fw_json_key(j, key), fw_json_u64(j, value))
#define HEX(key, value) (fw_json_key(j, key), put_hex(j, in, value))
#define BOOL(key, value) (fw_json_key(j, key), fw_json_bool(j, value))
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
	fw_json_key(j, "os"), fw_json_cstr(j, fw_os_name(s, buffer));
	STR("os_version", s->os_version);
	STR("os_build", s->os_build);
	fw_json_key(j, "cpu"), fw_json_cstr(j, s->cpu->name);
	NUM_OR_NULL("cpu_count", s->cpu_count != 0, s->cpu_count);
	STR("cpu_info", s->cpu_info);
	STR("cpu_microcode", s->cpu_microcode);
	STR("lsb_id", s->lsb_id);
	STR("lsb_release", s->lsb_release);
	STR("lsb_codename", s->lsb_codename);
	STR("lsb_description", s->lsb_description);
	STR("boot_args", s->mac_boot_args);
	fw_json_end_object(j);

	fw_json_key(j, "process");
	fw_json_begin_object(j);
	NUM_OR_NULL("pid", s->have_pid, s->pid);
	NUM_OR_NULL("create_time", s->have_create_time, s->create_time);
	STR("command_line", s->command_line);
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
	fw_json_key(j, "reason"), fw_json_cstr(j, in->reason);
	HEX("address", in->crash_address);
	HEX("recorded_address", e->address);
	NUM("thread_id", e->thread_id);
	fw_json_key(j, "code"), fw_json_hex(j, e->code, 8);
	fw_json_key(j, "flags"), fw_json_hex(j, e->flags, 8);
	fw_json_key(j, "parameters");
	fw_json_begin_array(j);
	for (uint32_t i = 0; i < e->num_parameters && i < 15; i++)
		fw_json_hex(j, e->parameters[i], 16);
	fw_json_end_array(j);
	STR("assertion", e->assertion);
	STR("assertion_function", e->assertion_function);
	STR("assertion_file", e->assertion_file);
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
		fw_json_key(j, "name"), fw_json_cstr(j, t->name);
		NUM("offset", t->offset);
		NUM("size", t->size);
		BOOL("read", t->used);
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
		NUM("index", i);
		NUM("thread_id", t->id);
		STR("thread_name", t->name);
		BOOL("crashing", i == s->crashing_thread);
		BOOL("dump_writer", t->is_dump_writer);
		HEX_OR_NULL("pc", pc, t->regs.v[s->cpu->pc]);
		HEX_OR_NULL("sp", sp, t->regs.v[s->cpu->sp]);
		fw_json_key(j, "context_error");
		fw_json_cstr(j, t->have_context ? NULL : t->context_error);
		HEX_OR_NULL("stack_start", t->stack_size != 0, t->stack_start);
		NUM("stack_size", t->stack_size);
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
		STR("key", a[i].key);
		STR("value", a[i].value);
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
		NUM("size", m->size);
		STR("code_file", m->code_file);
		ID("code_id", &m->code_id);
		STR("debug_file", m->debug_file);
		ID("debug_id", &m->debug_id);
		STR("version", m->version);
		BOOL("main", m->is_main);
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
		NUM("size", m->size);
		STR("code_file", m->code_file);
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
		NUM("size", s->memory.segments[i].size);
		fw_json_end_object(j);
	}
	fw_json_end_array(j);

	BOOL("regions_complete", s->regions_complete);
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
		NUM("file_offset", r->file_offset);
		STR("name", r->name);
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
		STR("name", s->limits[i].name);
		STR("soft", s->limits[i].soft);
		STR("hard", s->limits[i].hard);
		STR("unit", s->limits[i].unit);
		fw_json_end_object(j);
	}
	fw_json_end_array(j);

	fw_json_key(j, "handles");
	if (s->have_handles) {
		fw_json_begin_array(j);
		for (uint32_t i = 0; i < s->num_handles; i++) {
			fw_json_begin_object(j);
			fw_json_key(j, "handle"), fw_json_hex(j, s->handles[i].handle, in->digits);
			STR("type_name", s->handles[i].type_name);
			STR("object_name", s->handles[i].object_name);
			fw_json_end_object(j);
		}
		fw_json_end_array(j);
	} else {
		fw_json_null(j);
	}

	NUM("notes_total", s->num_notes);
	fw_json_key(j, "notes");
	fw_json_begin_array(j);
	for (uint32_t i = 0; i < s->num_notes && i < FW_MAX_SNAPSHOT_NOTES; i++) {
		const struct fw_snapshot_note *n = &s->notes[i];
		fw_json_begin_object(j);
		fw_json_key(j, "place"), fw_json_cstr(j, n->place[0] ? n->place : NULL);
		fw_json_key(j, "message"), fw_json_cstr(j, n->message);
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
	NUM("schema_version", FW_SCHEMA_VERSION);
	fw_json_key(j, "status"), fw_json_cstr(j, "OK");
	fw_json_key(j, "file"), fw_json_cstr(j, in->path);
	fw_json_key(j, "format"), fw_json_cstr(j, s->format);
	BOOL("big_endian", s->big_endian);
	NUM("size", in->size);
	BOOL("compressed", in->compressed);
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
