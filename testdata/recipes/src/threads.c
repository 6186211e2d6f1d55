// Six threads: the main thread waits in pthread_join, three workers wait in
// equal stacks, one sleeps elsewhere, and one named "crasher" crashes.
#include "report.h"

#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wakeup = PTHREAD_COND_INITIALIZER;
static int waiting;
static volatile int jobs;

__attribute__((noinline)) static int take_job(void)
{
	pthread_mutex_lock(&lock);
	waiting++;
	while (jobs == 0)
		pthread_cond_wait(&wakeup, &lock);
	pthread_mutex_unlock(&lock);
	return jobs;
}

__attribute__((noinline)) static void worker_loop(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		take_job();
		KEEP_FRAME();
	}
}

static void *worker_main(void *argument)
{
	prctl(PR_SET_NAME, "worker");
	worker_loop(3);
	return argument;
}

__attribute__((noinline)) static void wait_for_input(int fd)
{
	char byte;

	while (read(fd, &byte, 1) > 0)
		KEEP_FRAME();
}

static void *reader_main(void *argument)
{
	int *fds = argument;

	prctl(PR_SET_NAME, "reader");
	wait_for_input(fds[0]);
	KEEP_FRAME();
	return argument;
}

static inline __attribute__((always_inline)) void store(int *slot, int value)
{
	*(volatile int *)slot = value;
}

__attribute__((noinline)) static void finish_job(int *slot, int value)
{
	store(slot, value);
	KEEP_FRAME();
}

__attribute__((noinline)) static void process(int value)
{
	finish_job((int *)16, value + 1);
	KEEP_FRAME();
}

static void *crasher_main(void *argument)
{
	int ready;

	prctl(PR_SET_NAME, "crasher");
	do {
		usleep(20000);
		pthread_mutex_lock(&lock);
		ready = waiting;
		pthread_mutex_unlock(&lock);
	} while (ready < 3);
	// The others are given time to reach their system calls.
	usleep(200000);
	process(ready);
	KEEP_FRAME();
	return argument;
}

int main(void)
{
	pthread_attr_t attributes;
	pthread_t threads[5];
	int fds[2];

	report_install();
	if (pipe(fds) != 0)
		return 1;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 128 * 1024);
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], &attributes, worker_main, NULL);
	pthread_create(&threads[3], &attributes, reader_main, fds);
	pthread_create(&threads[4], &attributes, crasher_main, NULL);
	for (int i = 0; i < 5; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
