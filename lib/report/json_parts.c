// The report as JSON: what is said once a capture.
#include "lib/report/json_internal.h"
#include "lib/report/shared.h"

static void write_capture(struct fw_json_report *w)
{
	const struct fw_snapshot *s = w->r->snapshot;
	struct fw_json *j = &w->j;
	fw_json_begin_object(j);
	FW_KEY_FIRST(j, "file");
	fw_json_cstr(j, w->r->path);
	FW_KEY(j, "format");
	fw_json_cstr(j, s->format);
	FW_KEY(j, "time");
	fw_json_number_or_null(j, s->timestamp, s->timestamp);
	fw_json_end_object(j);
}

static void write_exception(struct fw_json_report *w)
{
	const struct fw_exception *e = &w->r->snapshot->exception;
	struct fw_json *j = &w->j;
	if (!e->present) {
		fw_json_null(j);
		return;
	}
	fw_json_begin_object(j);
	FW_KEY_FIRST(j, "code");
	fw_json_hex(j, e->code, 8);
	FW_KEY(j, "flags");
	fw_json_hex(j, e->flags, 8);
	FW_KEY(j, "address");
	fw_json_hex(j, e->address, w->digits);
	FW_KEY(j, "parameters");
	fw_json_begin_array(j);
	for (uint32_t i = 0; i < e->num_parameters && i < 15; i++)
		fw_json_hex(j, e->parameters[i], w->digits);
	fw_json_end_array(j);
	fw_json_end_object(j);
}

static void write_assertion_location(struct fw_json *j, const struct fw_exception *e)
{
	if (!e->assertion_function.s && !e->assertion_file.s) {
		fw_json_null(j);
		return;
	}
	fw_json_begin_object(j);
	FW_KEY_FIRST(j, "function");
	fw_json_str(j, e->assertion_function);
	FW_KEY(j, "file");
	fw_json_str(j, e->assertion_file);
	FW_KEY(j, "line");
	fw_json_number_or_null(j, e->assertion_line, e->assertion_line);
	fw_json_end_object(j);
}

static void write_crashing_thread_id(struct fw_json_report *w)
{
	const struct fw_snapshot *s = w->r->snapshot;
	if (s->crashing_thread >= 0)
		fw_json_u64(&w->j, s->threads[s->crashing_thread].id);
	else
		fw_json_number_or_null(&w->j, s->exception.present, s->exception.thread_id);
}

static void write_crash_info(struct fw_json_report *w)
{
	const struct fw_report *r = w->r;
	const struct fw_exception *e = &r->snapshot->exception;
	struct fw_json *j = &w->j;
	fw_json_begin_object(j);
	FW_KEY_FIRST(j, "type");
	fw_json_cstr(j, r->crashed ? r->reason : NULL);
	FW_KEY(j, "address");
	if (r->crashed)
		fw_json_hex(j, r->crash_address, w->digits);
	else
		fw_json_null(j);
	// Analyses of the crash are not made yet.
	FW_KEY(j, "adjusted_address");
	fw_json_null(j);
	FW_KEY(j, "instruction");
	fw_json_null(j);
	FW_KEY(j, "memory_accesses");
	fw_json_null(j);
	FW_KEY(j, "instruction_pointer_update");
	fw_json_null(j);
	FW_KEY(j, "possible_bit_flips");
	fw_json_null(j);
	FW_KEY(j, "crash_inconsistencies");
	fw_json_null(j);
	FW_KEY(j, "crashing_thread");
	fw_json_number_or_null(j, r->crashing_index >= 0, (uint64_t)r->crashing_index);
	FW_KEY(j, "crashing_thread_id");
	write_crashing_thread_id(w);
	FW_KEY(j, "assertion");
	fw_json_str(j, e->assertion);
	FW_KEY(j, "assertion_location");
	write_assertion_location(j, e);
	FW_KEY(j, "exception");
	write_exception(w);
	fw_json_end_object(j);
}

/** "version build", as the peer joins them; null when neither is known. */
static void write_os_version(struct fw_json *j, const struct fw_snapshot *s)
{
	char text[512];
	struct fw_out joined = { .data = text, .capacity = sizeof(text), .fd = -1 };
	struct fw_str version = s->os_version, build = fw_report_os_build(s);
	if (!version.n || !build.n || version.n + build.n >= sizeof(text)) {
		fw_json_str(j, version.n ? version : build);
		return;
	}
	fw_out_str(&joined, version);
	fw_out_byte(&joined, ' ');
	fw_out_str(&joined, build);
	fw_json_string(j, text, joined.count);
}

static void write_system_info(struct fw_json_report *w)
{
	const struct fw_snapshot *s = w->r->snapshot;
	struct fw_json *j = &w->j;
	char buffer[16];
	fw_json_begin_object(j);
	FW_KEY_FIRST(j, "os");
	fw_json_cstr(j, fw_os_name(s, buffer));
	FW_KEY(j, "os_ver");
	write_os_version(j, s);
	FW_KEY(j, "cpu_arch");
	fw_json_cstr(j, s->cpu->name);
	FW_KEY(j, "cpu_info");
	fw_json_str(j, s->cpu_info);
	FW_KEY(j, "cpu_count");
	fw_json_number_or_null(j, s->cpu_count, s->cpu_count);
	FW_KEY(j, "cpu_microcode_version");
	fw_json_str(j, s->cpu_microcode);
	fw_json_end_object(j);
}

void fw_json_summary_part(struct fw_json_report *w)
{
	const struct fw_snapshot *s = w->r->snapshot;
	struct fw_json *j = &w->j;
	FW_KEY(j, "capture");
	write_capture(w);
	FW_KEY(j, "pid");
	fw_json_number_or_null(j, s->have_pid, s->pid);
	FW_KEY(j, "process_uptime");
	fw_json_number_or_null(j, s->timestamp && s->have_create_time &&
			       s->timestamp >= s->create_time, s->timestamp - s->create_time);
	FW_KEY(j, "crash_info");
	write_crash_info(w);
	FW_KEY(j, "system_info");
	write_system_info(w);
	FW_KEY(j, "linux_memory_map_count");
	fw_json_number_or_null(j, s->num_maps, s->num_maps);
}

static void write_handles(struct fw_json *j, const struct fw_snapshot *s)
{
	if (!s->have_handles) {
		fw_json_null(j);
		return;
	}
	fw_json_begin_array(j);
	for (uint32_t i = 0; i < s->num_handles; i++) {
		fw_json_begin_object(j);
		FW_KEY_FIRST(j, "handle");
		fw_json_u64(j, s->handles[i].handle);
		FW_KEY(j, "type_name");
		fw_json_str(j, s->handles[i].type_name);
		FW_KEY(j, "object_name");
		fw_json_str(j, s->handles[i].object_name);
		fw_json_end_object(j);
	}
	fw_json_end_array(j);
}

static void write_lsb_release(struct fw_json *j, const struct fw_snapshot *s)
{
	if (!s->lsb_id.s && !s->lsb_release.s && !s->lsb_codename.s && !s->lsb_description.s) {
		fw_json_null(j);
		return;
	}
	fw_json_begin_object(j);
	FW_KEY_FIRST(j, "id");
	fw_json_str(j, s->lsb_id);
	FW_KEY(j, "release");
	fw_json_str(j, s->lsb_release);
	FW_KEY(j, "codename");
	fw_json_str(j, s->lsb_codename);
	FW_KEY(j, "description");
	fw_json_str(j, s->lsb_description);
	fw_json_end_object(j);
}

static void write_limits(struct fw_json *j, const struct fw_snapshot *s)
{
	if (!s->num_limits) {
		fw_json_null(j);
		return;
	}
	fw_json_begin_object(j);
	FW_KEY_FIRST(j, "limits");
	fw_json_begin_array(j);
	for (uint32_t i = 0; i < s->num_limits; i++) {
		const struct fw_limit_info *limit = &s->limits[i];
		fw_json_begin_object(j);
		FW_KEY_FIRST(j, "name");
		fw_json_str(j, limit->name);
		FW_KEY(j, "soft");
		fw_json_str(j, limit->soft);
		FW_KEY(j, "hard");
		fw_json_str(j, limit->hard);
		FW_KEY(j, "unit");
		fw_json_str(j, limit->unit);
		fw_json_end_object(j);
	}
	fw_json_end_array(j);
	fw_json_end_object(j);
}

void fw_json_annotations(struct fw_json *j, const struct fw_annotation *a, uint32_t n)
{
	fw_json_begin_array(j);
	for (uint32_t i = 0; i < n; i++) {
		fw_json_begin_object(j);
		FW_KEY_FIRST(j, "key");
		fw_json_str_or_empty(j, a[i].key);
		FW_KEY(j, "value");
		fw_json_str(j, a[i].value);
		fw_json_end_object(j);
	}
	fw_json_end_array(j);
}

static void write_crashpad(struct fw_json *j, const struct fw_snapshot *s)
{
	if (!s->crashpad_report_id.n && !s->crashpad_client_id.n && !s->num_annotations) {
		fw_json_null(j);
		return;
	}
	fw_json_begin_object(j);
	FW_KEY_FIRST(j, "report_id");
	fw_json_cstr(j, s->crashpad_report_id.n ? s->crashpad_report_id.text : NULL);
	FW_KEY(j, "client_id");
	fw_json_cstr(j, s->crashpad_client_id.n ? s->crashpad_client_id.text : NULL);
	FW_KEY(j, "annotations");
	fw_json_annotations(j, s->annotations, s->num_annotations);
	fw_json_end_object(j);
}

static void write_notes(struct fw_json *j, const struct fw_snapshot *s)
{
	fw_json_begin_array(j);
	for (uint32_t i = 0; i < s->num_notes && i < FW_MAX_SNAPSHOT_NOTES; i++) {
		fw_json_begin_object(j);
		FW_KEY_FIRST(j, "place");
		fw_json_cstr(j, s->notes[i].place[0] ? s->notes[i].place : NULL);
		FW_KEY(j, "message");
		fw_json_cstr(j, s->notes[i].message);
		fw_json_end_object(j);
	}
	fw_json_end_array(j);
}

void fw_json_rest(struct fw_json_report *w)
{
	const struct fw_snapshot *s = w->r->snapshot;
	struct fw_json *j = &w->j;
	FW_KEY(j, "handles");
	write_handles(j, s);
	FW_KEY(j, "lsb_release");
	write_lsb_release(j, s);
	FW_KEY(j, "proc_limits");
	write_limits(j, s);
	FW_KEY(j, "mac_crash_info");
	fw_json_null(j);
	FW_KEY(j, "mac_boot_args");
	fw_json_str(j, s->mac_boot_args);
	FW_KEY(j, "soft_errors");
	fw_json_null(j);
	FW_KEY(j, "command_line");
	fw_json_str(j, s->command_line);
	FW_KEY(j, "crashpad");
	write_crashpad(j, s);
	FW_KEY(j, "notes");
	write_notes(j, s);
	FW_KEY(j, "note_count");
	fw_json_u64(j, s->num_notes);
	FW_KEY(j, "frames_dropped");
	fw_json_u64(j, w->r->frames_dropped);
}
