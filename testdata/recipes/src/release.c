// Preloaded into the Crashpad handler only: the dump names Debian's kernel
// release instead of that of the machine it was recorded on.
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

int uname(struct utsname *buffer)
{
	int result = syscall(SYS_uname, buffer);

	strcpy(buffer->nodename, "fixture");
	strcpy(buffer->release, "6.1.0-28-amd64");
	strcpy(buffer->version, "#1 SMP PREEMPT_DYNAMIC Debian 6.1.119-1");
	return result;
}
