#include "lib/rules/rule.h"

#include "lib/base/limits.h"
#include "lib/rules/program_internal.h"

void fw_row_init(struct fw_row *row, const struct fw_cpu *cpu)
{
	row->count = 2;
	row->rules[0] = (struct fw_rule){ .kind = FW_RULE_FAILED, .target = FW_SLOT_CFA };
	row->rules[1] = (struct fw_rule){ .kind = FW_RULE_FAILED, .target = cpu->pc };
}

// Equal rules must be equal bytes, or equal rows would be stored twice.
static struct fw_rule canonical(struct fw_rule rule, uint8_t pc)
{
	switch (rule.kind) {
	case FW_RULE_UNDEFINED:
	case FW_RULE_FAILED:
		rule.reg = 0;
		rule.arg = 0;
		break;
	case FW_RULE_SAME:
		rule.reg = 0;
		rule.arg = 0;
		if (rule.target == pc) {
			rule.kind = FW_RULE_REG;
			rule.reg = pc;
		}
		break;
	case FW_RULE_REG:
		if (rule.reg == rule.target && rule.arg == 0 && rule.target != pc) {
			rule.kind = FW_RULE_SAME;
			rule.reg = 0;
		}
		break;
	case FW_RULE_LOAD_REG:
		break;
	default:
		rule.reg = 0;
		break;
	}
	return rule;
}

void fw_row_set(struct fw_row *row, struct fw_rule rule)
{
	rule = canonical(rule, row->rules[1].target);
	if (rule.target == FW_SLOT_CFA) {
		rule.flags = row->rules[0].flags;	// they are the row's, not the rule's
		row->rules[0] = rule;
		return;
	}
	rule.flags = 0;
	if (rule.target == row->rules[1].target) {
		row->rules[1] = rule;
		return;
	}
	assert(rule.target < FW_CPU_REGS);
	uint32_t i = row->count;
	while (i > 2 && row->rules[i - 1].target > rule.target)
		i--;
	if (i > 2 && row->rules[i - 1].target == rule.target) {
		row->rules[i - 1] = rule;
		return;
	}
	memmove(&row->rules[i + 1], &row->rules[i], (row->count - i) * sizeof(rule));
	row->rules[i] = rule;
	row->count++;
}

struct parser {
	struct fw_program_set *set;
	const struct fw_cpu *cpu;
	struct fw_rule *rules;
	uint32_t max, count, unknown, failed;
	struct fw_error *err;
};

static bool equals(struct fw_str s, const char *name)
{
	return strlen(name) == s.n && memcmp(name, s.s, s.n) == 0;
}

// Slot of a name that an expression may use, or FW_NO_REG.
static uint8_t base_slot(const struct fw_cpu *cpu, struct fw_str name)
{
	if (name.n == 4 && memcmp(name.s, ".cfa", 4) == 0)
		return FW_SLOT_CFA;
	return fw_cpu_reg(cpu, name);
}

/*
 * The shapes that are no programs: base [imm +|-] [^]. False for all others,
 * bad ones among them, which the compiler explains.
 */
static bool parse_shape(const struct fw_cpu *cpu, const struct fw_str *token, unsigned n,
			struct fw_rule *rule)
{
	uint64_t v = 0;
	uint8_t slot = base_slot(cpu, token[0]);
	bool load = n > 1 && token[n - 1].n == 1 && token[n - 1].s[0] == '^';
	unsigned rest = n - load;
	if (slot == FW_NO_REG || (slot == FW_SLOT_CFA && rule->target == FW_SLOT_CFA))
		return false;
	if (rest == 3) {
		char op = token[2].n == 1 ? token[2].s[0] : 0;
		if (fw_literal_parse_(token[1], &v) != FW_LITERAL_OK || (op != '+' && op != '-'))
			return false;
		if (op == '-')
			v = 0 - v;
		if (cpu->word_size == 4)	// sums wrap there: every literal is a small one
			v = (uint64_t)(int64_t)(int32_t)(uint32_t)v;
		if ((int64_t)v < INT32_MIN || (int64_t)v > INT32_MAX)
			return false;
	} else if (rest != 1) {
		return false;
	}
	rule->arg = (int32_t)(int64_t)v;
	if (slot == FW_SLOT_CFA) {
		rule->kind = load ? FW_RULE_LOAD_CFA : FW_RULE_CFA;
	} else {
		rule->kind = load ? FW_RULE_LOAD_REG : FW_RULE_REG;
		rule->reg = slot;
	}
	return true;
}

// The first four tokens of an expression, how many it has, and its text.
struct expression {
	struct fw_str token[4], last, text;
	unsigned n;
};

static enum fw_code parse_program(struct parser *p, const struct expression *e,
				  struct fw_rule *rule)
{
	struct fw_str text = e->text;
	uint32_t program = 0;
	rule->kind = FW_RULE_PROGRAM;
	if (e->n > 1 && e->last.n == 1 && e->last.s[0] == '^') {
		rule->kind = FW_RULE_LOAD_PROGRAM;
		text.n = (size_t)(e->last.s - text.s);
	}
	enum fw_code rc = fw_program_compile_cfi(p->set, p->cpu, rule->target != FW_SLOT_CFA,
						 text, &program, p->err);
	if (rc == FW_NO_MEMORY)
		return rc;
	if (rc) {
		rule->kind = FW_RULE_FAILED;
		p->failed++;
	}
	rule->arg = (int32_t)program;
	return FW_OK;
}

static enum fw_code finish_rule(struct parser *p, uint8_t target, const struct expression *e)
{
	struct fw_rule rule = { .kind = FW_RULE_FAILED, .target = target };
	uint32_t i = 0;
	if (target == FW_NO_REG) {
		p->unknown++;
		return FW_OK;
	}
	if (e->n == 0) {
		p->failed++;
	} else if (e->n == 1 && equals(e->token[0], ".undef")) {
		rule.kind = FW_RULE_UNDEFINED;
	} else if (e->n > 4 || !parse_shape(p->cpu, e->token, e->n, &rule)) {
		enum fw_code rc = parse_program(p, e, &rule);
		if (rc)
			return rc;
	}
	while (i < p->count && p->rules[i].target != target)
		i++;
	if (i == p->max)
		return fw_fail(p->err, FW_LIMIT, NULL, "more than %u rules", p->max);
	p->rules[i] = canonical(rule, p->cpu->pc);
	p->count += i == p->count;
	return FW_OK;
}

static uint8_t parse_target(const struct fw_cpu *cpu, struct fw_str name)
{
	if (name.s[0] != '.')
		return fw_cpu_reg(cpu, name);
	if (name.n == 4 && memcmp(name.s, ".cfa", 4) == 0)
		return FW_SLOT_CFA;
	return equals(name, ".ra") ? cpu->pc : FW_NO_REG;
}

static enum fw_code parse_rules(struct parser *p, struct fw_str text)
{
	struct fw_text t = { text.s, text.s + text.n };
	struct fw_str token;
	struct expression e = { .n = 0 };
	uint8_t target = 0;
	bool named = false;
	while (fw_text_token(&t, &token)) {
		if (token.s[token.n - 1] == ':') {
			enum fw_code rc = named ? finish_rule(p, target, &e) : FW_OK;
			if (rc)
				return rc;
			if (token.n == 1)
				return fw_fail(p->err, FW_MALFORMED, NULL, "rule without a name");
			token.n--;
			target = parse_target(p->cpu, token);
			named = true;
			e.n = 0;
			continue;
		}
		if (!named)
			return fw_fail(p->err, FW_MALFORMED, NULL,
				       "text before the first rule's name");
		if (e.n == 0)
			e.text.s = token.s;
		if (e.n < 4)
			e.token[e.n] = token;
		e.n++;
		e.last = token;
		e.text.n = (size_t)(token.s + token.n - e.text.s);
	}
	if (!named)
		return fw_fail(p->err, FW_MALFORMED, NULL, "no rules");
	return finish_rule(p, target, &e);
}

enum fw_code fw_rules_parse(struct fw_program_set *set, const struct fw_cpu *cpu,
			    struct fw_str text, struct fw_rule *rules, uint32_t max,
			    uint32_t *ret_count, uint32_t *ret_unknown, uint32_t *ret_failed,
			    struct fw_error *err)
{
	struct parser p = { .set = set, .cpu = cpu, .rules = rules, .max = max, .err = err };
	enum fw_code rc = parse_rules(&p, text);
	*ret_count = p.count;
	*ret_unknown = p.unknown;
	*ret_failed = p.failed;
	return rc;
}
