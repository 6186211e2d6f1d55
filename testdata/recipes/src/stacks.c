// Stacks of every sort without a C library: what calls what is known from here to the root.
// With an argument it runs itself without one, several times, each in a new process.
#if defined(__x86_64__)
__asm__(".globl _start\n_start: xor %ebp, %ebp\n mov %rsp, %rdi\n and $-16, %rsp\n call begin\n hlt\n");
static long call(long n, long a, long b, long c, long d)
{
	long ret;
	register long r10 __asm__("r10") = d;
	__asm__ volatile("syscall" : "=a"(ret) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
	return ret;
}
enum { EXIT = 60, FORK = 57, EXECVE = 59, WAIT4 = 61 };
typedef struct { unsigned long where, kind, value; } relocation;
#else
__asm__(".globl _start\n_start: xor %ebp, %ebp\n mov %esp, %eax\n and $-16, %esp\n sub $12, %esp\n push %eax\n call begin\n hlt\n");
static long call(long n, long a, long b, long c, long d)
{
	long ret;
	__asm__ volatile("int $0x80" : "=a"(ret) : "a"(n), "b"(a), "c"(b), "d"(c), "S"(d) : "memory");
	return ret;
}
enum { EXIT = 1, FORK = 2, EXECVE = 11, WAIT4 = 114 };
typedef struct { unsigned long where, kind; } relocation;
#endif

volatile unsigned sink;

typedef unsigned mixer(unsigned);
#ifndef __PIC__
static unsigned mixed(unsigned x) { return x * 1103515245 + 12345; }
static mixer *choose(void) { return mixed; }
unsigned mix(unsigned x) __attribute__((ifunc("choose")));	// called through a stub
#else
__attribute__((noinline)) static unsigned mix(unsigned x) { return x * 1103515245 + 12345; }
#endif

__attribute__((noinline)) static unsigned fib(unsigned n) { return n < 2 ? n + sink : fib(n - 1) + fib(n - 2); }
__attribute__((noinline)) static void stubs(unsigned n) { for (unsigned i = 0, x = 1; i < n; i++) sink = x = mix(x); }
__attribute__((noinline)) static void leaf(unsigned n) { for (unsigned i = 0; i < n; i++) sink += i; }
__attribute__((noinline)) static void room(unsigned n)
{
	unsigned array[n + 1];		// its frame's size is known to a register only
	for (unsigned i = 0; i < 4; i++)
		array[n * i / 4] = i;
	__asm__ volatile("" : : "r"(array) : "memory");
	leaf(600000);
	sink += array[n];
}
__attribute__((noinline)) static void level(int depth)
{
	if (depth != 0) {
		level(depth - 1);
	} else {
		fib(23);
		stubs(400000);
		room(8);
	}
	sink += 1;
}

#ifdef __PIC__
static void relocate(void) { }
#else
extern const relocation __rela_iplt_start[], __rela_iplt_end[], __rel_iplt_start[], __rel_iplt_end[];
static void relocate(void)
{
#ifdef __x86_64__
	for (const relocation *r = __rela_iplt_start; r < __rela_iplt_end; r++)
		*(unsigned long *)r->where = (unsigned long)((mixer *(*)(void))r->value)();
#else
	for (const relocation *r = __rel_iplt_start; r < __rel_iplt_end; r++)
		*(unsigned long *)r->where = (unsigned long)((mixer *(*)(void))*(unsigned long *)r->where)();
#endif
}
#endif

__attribute__((noreturn, used)) void begin(long *stack)
{
	char **arguments = (char **)stack + 1;
	relocate();
	if (stack[0] > 1)
		for (int i = 0; i < 4; i++) {
			char *again[] = { arguments[0], 0 };
			if (call(FORK, 0, 0, 0, 0) == 0) {
				fib(22);		// before exec
				call(EXECVE, (long)arguments[0], (long)again, 0, 0);
				call(EXIT, 1, 0, 0, 0);
			}
			call(WAIT4, -1, 0, 0, 0);
		}
	for (int i = 0; i < 12; i++)
		level(i % 4);
	call(EXIT, 0, 0, 0, 0);
	__builtin_unreachable();
}
