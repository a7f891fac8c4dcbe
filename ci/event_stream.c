/* Preloaded by ci/cross.sh: says that there is a stream of events, which bounds WFE, as Linux on ARM does and qemu-user does not. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/auxv.h>

enum { HWCAP_EVTSTRM_BIT = 1 << 2 };

unsigned long getauxval(unsigned long type)
{
    unsigned long (*next)(unsigned long) = (unsigned long (*)(unsigned long))dlsym(RTLD_NEXT, "getauxval");
    unsigned long value = next(type);
    return type == AT_HWCAP ? value | HWCAP_EVTSTRM_BIT : value;
}
