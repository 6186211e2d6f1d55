// Some calls to sample; a few milliseconds each.
volatile int sink;
__attribute__((noinline)) static int leaf(int n) { int s = 0; for (int i = 0; i < n; i++) s += i ^ sink; return s; }
__attribute__((noinline)) static int middle(int n) { return leaf(n) + 1; }
int main(void) { for (int i = 0; i < 40; i++) sink += middle(1000000); return 0; }
