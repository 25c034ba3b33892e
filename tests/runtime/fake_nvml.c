/* A driver library without a driver: two cards, described by the environment. Signatures as in nvml.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { unsigned long long total, free, used; } memory_t;
typedef struct { unsigned pid; unsigned long long memory; unsigned gpu, compute; } process_t;

static long number(const char *name, long otherwise) { const char *text = getenv(name); return text ? atol(text) : otherwise; }
static int text(const char *name, const char *otherwise, char *out, unsigned size) {
    const char *given = getenv(name);
    return snprintf(out, size, "%s", given ? given : otherwise) < (int)size ? 0 : 7;
}

int nvmlInit_v2(void) { return (int)number("FAKE_INIT", 0); }
int nvmlShutdown(void) { return 0; }
const char *nvmlErrorString(int code) { return code == 9 ? "Driver Not Loaded" : "Unknown Error"; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = (unsigned)number("FAKE_COUNT", 2); return 0; }
int nvmlSystemGetDriverVersion(char *out, unsigned size) { return text("FAKE_DRIVER", "580.82.07", out, size); }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle) { *handle = (void *)(long)(1000 + index); return 0; }
int nvmlDeviceGetName(void *handle, char *out, unsigned size) {
    if ((long)handle >= 2000) return text("FAKE_SLICE", "NVIDIA H100 80GB HBM3 MIG 1g.10gb", out, size);
    return text("FAKE_NAME", "NVIDIA H100 80GB HBM3", out, size);
}
int nvmlDeviceGetMemoryInfo(void *handle, memory_t *out) {
    out->total = 81559ULL << 20;
    out->used = (unsigned long long)number("FAKE_USED", 550) << 20;
    out->free = out->total - out->used;
    return 0;
}
int nvmlDeviceGetTemperature(void *handle, int sensor, unsigned *out) { *out = (unsigned)(number("FAKE_HEAT", 60) + (long)handle - 1000); return sensor; }
int nvmlDeviceGetMigMode(void *handle, unsigned *now, unsigned *later) {
    long mig = number("FAKE_MIG", 0);
    *now = *later = (unsigned)(mig > 0);
    return mig < 0 ? 3 : 0;
}
int nvmlDeviceGetMaxMigDeviceCount(void *handle, unsigned *count) { *count = 7; return 0; }
int nvmlDeviceGetMigDeviceHandleByIndex(void *handle, unsigned index, void **part) {
    if (index >= (unsigned)number("FAKE_MIG", 0)) return 6;
    *part = (void *)(long)(2000 + index);
    return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned *count, process_t *out) {
    unsigned there = (unsigned)number("FAKE_PROCESSES", 0);
    if (there > *count) { *count = there; return 7; }
    for (unsigned at = 0; at < there; at++) { memset(&out[at], 0, sizeof *out); out[at].pid = at + 1; }
    *count = there;
    return (int)number("FAKE_PROCESSES_CODE", 0);
}
