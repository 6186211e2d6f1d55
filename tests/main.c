// Runs every suite of tests/test_*.c; CK_RUN_SUITE=name runs one, CK_FORK=no
// keeps it in one process, CK_TAP_LOG_FILE_NAME writes TAP.
#include <check.h>
#include <stdlib.h>

#include "symfiles/loader.h"

#define SUITE(name) Suite *name##_suite(void);
#include "suites.inc"
#undef SUITE

int main(int argc, char **argv)
{
	if (fw_loader_is_child(argc, argv))
		return fw_loader_main(argc, argv);
	SRunner *runner = srunner_create(NULL);
#define SUITE(name) srunner_add_suite(runner, name##_suite());
#include "suites.inc"
#undef SUITE
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
