// A flame graph as one page that needs nothing else: flamegraph.html, built into the
// program, with the tree by name as JSON in it. Nothing of a recording is HTML or
// script: it is JSON without '<', '>' and '&', and the page shows it as text.
#include <errno.h>
#include <stdlib.h>

#include "lib/base/json.h"
#include "lib/report/profile_by_name.h"
#include "lib/report/profile_text.h"

#define PAGE "lib/report/flamegraph.html"

__asm__(".section .rodata\n"
	".global fw_flamegraph_page\n.hidden fw_flamegraph_page\nfw_flamegraph_page:\n"
	".incbin \"" PAGE "\"\n"
	".global fw_flamegraph_page_end\n.hidden fw_flamegraph_page_end\nfw_flamegraph_page_end:\n"
	".byte 0\n.previous\n");
extern const char fw_flamegraph_page[], fw_flamegraph_page_end[];

struct page {
	const struct fw_name_tree *t;
	struct fw_out *out, scratch;
	unsigned columns;
	uint32_t *modules;		// by name: number among the modules
	uint32_t num_modules;
};

/** A JSON string that may stand in a script element whatever it says. */
static void json_text(struct page *w, struct fw_str s)
{
	struct fw_json j;
	w->scratch.count = 0;
	fw_json_init(&j, &w->scratch, false);
	fw_json_string(&j, s.s ? s.s : "", s.n);
	size_t from = 0;
	for (size_t i = 0; i < w->scratch.count; i++) {
		char c = w->scratch.data[i];
		if (c != '<' && c != '>' && c != '&')
			continue;
		fw_out_write(w->out, w->scratch.data + from, i - from);
		fw_out_lit(w->out, "\\u00");
		fw_out_hex(w->out, (uint8_t)c, 2);
		from = i + 1;
	}
	fw_out_write(w->out, w->scratch.data + from, w->scratch.count - from);
}

/** "NAME":[...] of every interned name, an element by @p each. */
static void write_names(struct page *w, const char *key,
			void (*each)(struct page *w, uint32_t name))
{
	fw_out_cstr(w->out, key);
	for (uint32_t i = 0; i < fw_intern_count(&w->t->names) && !w->out->failed; i++) {
		if (i)
			fw_out_byte(w->out, ',');
		each(w, i);
	}
	fw_out_byte(w->out, ']');
}

static void write_text(struct page *w, uint32_t name)
{
	json_text(w, fw_name_tree_text(w->t, name));
}

static void write_module_number(struct page *w, uint32_t name)
{
	fw_out_dec(w->out, w->modules[name]);
}

/** Modules by their first appearance; the names' numbers of them go to w->modules. */
static bool write_modules(struct page *w)
{
	struct fw_intern modules;
	bool ok = true;
	fw_intern_init(&modules);
	for (uint32_t i = 0; ok && i < fw_intern_count(&w->t->names); i++) {
		struct fw_str m = fw_name_tree_module(w->t, i);
		ok = fw_intern_add(&modules, m.s, m.n, &w->modules[i]) == FW_OK;
	}
	fw_out_lit(w->out, ",\n\"modules\":[");
	for (uint32_t i = 0; ok && i < fw_intern_count(&modules); i++) {
		if (i)
			fw_out_byte(w->out, ',');
		json_text(w, fw_intern_get(&modules, i));
	}
	fw_out_byte(w->out, ']');
	fw_intern_deinit(&modules);
	return ok;
}

/** Preorder: levels up from the node before, its name, what ends there (before and after). */
static void write_tree(struct page *w)
{
	const struct fw_name_tree *t = w->t;
	uint32_t node = 0, up = 0;
	bool any = false;
	fw_out_lit(w->out, ",\n\"tree\":[");
	while (t->nodes.count && !w->out->failed) {
		uint32_t item = t->first_item[node];
		while (item != FW_NO_ITEM && !(item & 1))
			item = t->next_item[item];
		for (up = 0; item == FW_NO_ITEM && node; up++) {
			item = t->next_item[2 * node + 1];
			while (item != FW_NO_ITEM && !(item & 1))
				item = t->next_item[item];
			node = t->nodes.data[node].parent;
		}
		if (item == FW_NO_ITEM)
			break;
		node = item / 2;
		if (any)
			fw_out_byte(w->out, ',');
		any = true;
		fw_out_dec(w->out, up);
		fw_out_byte(w->out, ',');
		fw_out_dec(w->out, t->nodes.data[node].name);
		for (unsigned i = 0; i < w->columns; i++) {
			fw_out_byte(w->out, ',');
			fw_out_dec(w->out, t->nodes.data[node].self[i]);
		}
	}
	fw_out_lit(w->out, "]}");
}

/** "12345 samples of cpu-clock in 1.5 s; ..." */
static void write_facts(struct page *w, const struct fw_profile *p, struct fw_out *text)
{
	fw_out_dec(text, p->samples_used);
	fw_out_cstr(text, p->samples_used == 1 ? " sample" : " samples");
	if (p->num_stacks) {
		struct fw_str event = fw_profile_event_name(p, p->stacks[0].event);
		fw_out_cstr(text, fw_profile_many_events(p) ? " of several events" : " of ");
		if (!fw_profile_many_events(p))
			fw_out_safe(text, event.s, event.n);
	}
	if (p->last_time > p->first_time)
		fw_out_printf(text, " in %.3f s", (double)(p->last_time - p->first_time) / 1e9);
	if (p->stops[FW_STOP_TRUNCATED_STACK])
		fw_out_printf(text, ", %llu of them with a stack that was cut off",
			      (unsigned long long)p->stops[FW_STOP_TRUNCATED_STACK]);
}

static void write_head(struct page *w, const struct fw_profile *before, const struct fw_profile *p)
{
	struct fw_out text;
	fw_out_init_memory(&text, SIZE_MAX);
	fw_out_lit(w->out, "{\"title\":");
	if (before) {
		fw_out_safe(&text, before->path, strlen(before->path));
		fw_out_lit(&text, " \xe2\x86\x92 ");
	}
	fw_out_safe(&text, p->path, strlen(p->path));
	json_text(w, (struct fw_str){ text.data, text.count });
	text.count = 0;
	if (before) {
		fw_out_lit(&text, "before: ");
		write_facts(w, before, &text);
		fw_out_lit(&text, "; after: ");
	}
	write_facts(w, p, &text);
	fw_out_lit(w->out, ",\n\"facts\":");
	json_text(w, (struct fw_str){ text.data, text.count });
	fw_out_lit(w->out, ",\n\"unit\":\"samples\",\"diff\":");
	fw_out_cstr(w->out, before ? "true" : "false");
	if (text.failed)
		fw_out_fail(w->out, ENOMEM);
	fw_out_deinit(&text);
}

static bool write_data(struct page *w)
{
	uint32_t n = fw_intern_count(&w->t->names);
	w->modules = calloc(n + (size_t)1, sizeof(*w->modules));
	if (!w->modules || !write_modules(w))
		return false;
	write_names(w, ",\n\"names\":[", write_text);
	write_names(w, ",\n\"moduleOf\":[", write_module_number);
	fw_out_lit(w->out, ",\n\"kinds\":\"");
	for (uint32_t i = 0; i < n; i++)
		fw_out_byte(w->out, fw_name_tree_kind(w->t, i));
	fw_out_byte(w->out, '"');
	write_tree(w);
	return true;
}

void fw_profile_write_flamegraph(const struct fw_profile *p, const struct fw_profile *before,
				 struct fw_out *out)
{
	static const char mark[] = "<!--DATA-->";
	const char *end = fw_flamegraph_page_end;
	const char *data = memmem(fw_flamegraph_page, (size_t)(end - fw_flamegraph_page), mark,
				  sizeof(mark) - 1);
	struct fw_name_tree t;
	struct page w = { .t = &t, .out = out, .columns = before ? 2 : 1 };
	fw_name_tree_init(&t, &(struct fw_name_tree_options){ .kinds = true, .modules = true });
	fw_out_init_memory(&w.scratch, SIZE_MAX);
	enum fw_code code = FW_OK;
	if (before)
		code = fw_name_tree_add(&t, before, 0);
	if (code == FW_OK)
		code = fw_name_tree_add(&t, p, before ? 1 : 0);
	if (code == FW_OK)
		code = fw_name_tree_sort(&t);
	if (code == FW_OK) {
		fw_out_write(out, fw_flamegraph_page, (size_t)(data - fw_flamegraph_page));
		write_head(&w, before, p);
		if (!write_data(&w))
			code = FW_NO_MEMORY;
		data += sizeof(mark) - 1;
		fw_out_write(out, data, (size_t)(end - data));
	}
	if (code != FW_OK || w.scratch.failed)
		fw_out_fail(out, code == FW_LIMIT ? EFBIG : ENOMEM);
	free(w.modules);
	fw_out_deinit(&w.scratch);
	fw_name_tree_deinit(&t);
}
