#include <string.h>

#include "cmd/cmd.h"
#include "cmd/inspect.h"
#include "cmd/output.h"
#include "lib/base/file.h"
#include "lib/report/report.h"
#include "lib/snapshot/crash_reason.h"

const char *fw_inspect_permissions(const struct fw_region *region, char buffer[4])
{
	uint8_t p = region->permissions;
	if (!(p & FW_PERM_KNOWN))
		return "?";
	buffer[0] = p & FW_PERM_READ ? 'r' : '-';
	buffer[1] = p & FW_PERM_WRITE ? 'w' : '-';
	buffer[2] = p & FW_PERM_EXEC ? 'x' : '-';
	buffer[3] = '\0';
	return buffer;
}

static void write_snapshot(const struct fw_args *args, const struct fw_file *file,
			   const struct fw_snapshot *s, struct fw_out *out)
{
	struct fw_inspect in = {
		.path = args->operands.data[0], .size = file->size,
		.compressed = file->compressed, .snapshot = s,
		.digits = s->cpu->word_size == 4 ? 8 : 16,
	};
	if (s->exception.present) {
		fw_crash_reason(s, false, in.reason, sizeof(in.reason));
		in.crash_address = fw_crash_address(s);
	}
	if (args->value[FW_OPT_JSON].set)
		fw_inspect_write_json(&in, args->value[FW_OPT_PRETTY].set, out);
	else
		fw_inspect_write_text(&in, out);
}

static int inspect(const struct fw_args *args, struct fw_output *o)
{
	const char *path = args->operands.data[0];
	struct fw_snapshot *snapshot;
	struct fw_file file;
	struct fw_error err;

	enum fw_code code = FW_OK;
	if (fw_inspect_is_recording(path)) {
		code = fw_inspect_recording(path, args->value[FW_OPT_JSON].set,
					    args->value[FW_OPT_PRETTY].set, &o->out, &err);
	} else if ((code = fw_file_open(&file, path, FW_MAX_INPUT, &err)) == FW_OK) {
		code = fw_snapshot_read(file.data, file.size, &snapshot, &err);
		if (code == FW_OK) {
			write_snapshot(args, &file, snapshot, &o->out);
			fw_snapshot_destroy(snapshot);
		}
		fw_file_close(&file);
	}
	if (code == FW_OK)
		return FW_EXIT_OK;
	if (args->value[FW_OPT_JSON].set)
		fw_report_write_error_json(path, &err, args->value[FW_OPT_PRETTY].set, &o->out);
	fw_out_flush(&o->out, NULL);	// failing is told when it is closed
	fw_complain(path, &err);
	return FW_EXIT_UNUSABLE;
}

int fw_cmd_inspect(const struct fw_args *args)
{
	struct fw_output o;

	if (args->operands.count != 1)
		return fw_usage("inspect", "takes one capture");
	if (args->value[FW_OPT_PRETTY].set && !args->value[FW_OPT_JSON].set)
		return fw_usage("inspect", "--pretty needs --json");
	if (!fw_output_open(&o, args->value[FW_OPT_OUTPUT].text))
		return FW_EXIT_UNUSABLE;
	return fw_output_close(&o, inspect(args, &o));
}
