// Loaded before a process (LD_PRELOAD), refuses some of the large allocations of the addon and passes on all others. PSN_REFUSE is
// the seed that chooses them, and how many; or `all`; or `only N`, which refuses the Nth. A limit of the address space refuses in the end also the bytes that the engine and the C
// library cannot do without, and they end the process.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// glibc's own names: dlsym allocates.
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

// What has a constant size is smaller: the buffer of a writer, the tables of a regular expression.
enum { LARGE = 512 * 1024 };

static int is_refused(size_t size, void *caller) {
	static _Atomic uint64_t count;
	Dl_info object;
	const char *value = size < LARGE ? NULL : getenv("PSN_REFUSE");
	if (value == NULL || dladdr(caller, &object) == 0 || strstr(object.dli_fname, "pi-session-native") == NULL) return 0;
	if (strcmp(value, "all") == 0) return 1;
	uint64_t number = ++count;
	if (strncmp(value, "only ", 5) == 0) return number == strtoull(value + 5, NULL, 10);
	// SplitMix64.
	uint64_t seed = strtoull(value, NULL, 10), random = seed + number * 0x9e3779b97f4a7c15;
	random = (random ^ (random >> 30)) * 0xbf58476d1ce4e5b9;
	random = (random ^ (random >> 27)) * 0x94d049bb133111eb;
	// One in 4, 8, 16, 32 or 64.
	return (random ^ (random >> 31)) % (4 << seed % 5) == 0;
}

static void *refused(void) {
	errno = ENOMEM;
	return NULL;
}

void *malloc(size_t size) { return is_refused(size, __builtin_return_address(0)) ? refused() : __libc_malloc(size); }
void *realloc(void *old, size_t size) { return is_refused(size, __builtin_return_address(0)) ? refused() : __libc_realloc(old, size); }
void *calloc(size_t count, size_t size) {
	size_t all;
	if (!__builtin_mul_overflow(count, size, &all) && is_refused(all, __builtin_return_address(0))) return refused();
	return __libc_calloc(count, size);
}
int posix_memalign(void **out, size_t align, size_t size) {
	if (is_refused(size, __builtin_return_address(0))) return ENOMEM;
	*out = __libc_memalign(align, size);
	return *out ? 0 : ENOMEM;
}
