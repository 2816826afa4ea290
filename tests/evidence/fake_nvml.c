/* A libnvidia-ml.so.1 that tells a story: FAKE_NVML names it. Built by the tests with cc -shared -fPIC.
 * The story "scripted" is the file FAKE_NVML_STATE, read again at each call, a card a line of words:
 *   total_mib=N used_mib=N power_mw=N limit_mw=N busy=N memory_busy=N sm_mhz=N mem_mhz=N temp=N energy_mj=N throttle=N
 *   corrected=N uncorrected=N replays=N xid=N lost=0|1 slow_ms=N; what isn't written is not supported.
 * With -DOLD it lacks what drivers before 2022 lack: memory v2, process lists v3, enforced MIG names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef unsigned long long u64;
typedef struct { u64 total, free, used; } memory_v1;
typedef struct { unsigned version; u64 total, reserved, free, used; } memory_v2;
typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; } pci_info;
typedef struct { unsigned pid; u64 used; unsigned instance, compute; } process;
typedef struct { const char *name; u64 total_mib, used_mib; int major, minor, links, display, mig; } card;

enum { OK = 0, INVALID = 2, UNSUPPORTED = 3, DENIED = 4, NOT_FOUND = 6, SMALL = 7, NO_DRIVER = 9, TIMED_OUT = 10, LOST = 15, MISMATCH = 18 };
#define MIB 1048576ull
#define RESERVED (300 * MIB)
#define SLICE 0x1000

static const card DESKTOP[] = {{"NVIDIA GeForce RTX 4090", 24564, 1180, 8, 9, 0, 1, 0}};
static const card HGX[] = {
    {"NVIDIA H100 80GB HBM3", 81559, 4, 9, 0, 18, 0, 0}, {"NVIDIA H100 80GB HBM3", 81559, 4, 9, 0, 18, 0, 0},
    {"NVIDIA H100 80GB HBM3", 81559, 4, 9, 0, 18, 0, 0}, {"NVIDIA H100 80GB HBM3", 81559, 4, 9, 0, 18, 0, 0},
    {"NVIDIA H100 80GB HBM3", 81559, 4, 9, 0, 18, 0, 0}, {"NVIDIA H100 80GB HBM3", 81559, 4, 9, 0, 18, 0, 0},
    {"NVIDIA H100 80GB HBM3", 81559, 4, 9, 0, 18, 0, 0}, {"NVIDIA H100 80GB HBM3", 81559, 4, 9, 0, 18, 0, 0}};
static const card UNEQUAL[] = {{"NVIDIA GeForce RTX 4090", 24564, 20, 8, 9, 0, 0, 0},
                               {"NVIDIA GeForce RTX 3060", 12288, 400, 8, 6, 0, 1, 0}};
static const card CUT[] = {{"NVIDIA A100-SXM4-80GB", 81920, 40, 8, 0, 12, 0, 1}};
static const card LOSING[] = {{"NVIDIA A100-SXM4-40GB", 40960, 4, 8, 0, 0, 0, 0},
                              {"NVIDIA A100-SXM4-40GB", 40960, 4, 8, 0, 0, 0, 0}};
static const card BUSY[] = {{"NVIDIA GeForce RTX 4090", 24564, 8000, 8, 9, 0, 0, 0}};
static const card THREE[] = {{"NVIDIA GeForce RTX 3090", 24576, 5, 8, 6, 0, 0, 0},
                             {"NVIDIA GeForce RTX 3090", 24576, 900, 8, 6, 0, 1, 0},
                             {"NVIDIA GeForce RTX 3090", 24576, 5, 8, 6, 0, 0, 0}};
static const card LAPTOP[] = {{"NVIDIA GeForce RTX 4090 Laptop GPU", 16376, 600, 8, 9, 0, 1, 0}};
static const card NEWER[] = {{"NVIDIA GeForce RTX 7090", 49152, 10, 13, 0, 0, 0, 0}};
static const card UNIFIED[] = {{"NVIDIA GB10", 0, 0, 12, 1, 0, 0, 0}};
static const struct { const char *name; u64 mib; } SLICES[] = {
    {"NVIDIA A100-SXM4-80GB MIG 3g.40gb", 40192}, {"NVIDIA A100-SXM4-80GB MIG 1g.10gb", 9728},
    {"NVIDIA A100-SXM4-80GB MIG 1g.10gb", 9728}};

#define CARDS_MOST 16
#define UNSAID (~0ull)
enum { POWER, LIMIT, WORKING, MEMORY_BUSY, SM, MEM, TEMP, ENERGY, THROTTLE, CORRECTED, UNCORRECTED, REPLAYS, XID, GONE, SLOW, TOTAL, USED, WORDS };
static const char *const NAMES[WORDS] = {"power_mw", "limit_mw", "busy", "memory_busy", "sm_mhz", "mem_mhz", "temp", "energy_mj", "throttle",
    "corrected", "uncorrected", "replays", "xid", "lost", "slow_ms", "total_mib", "used_mib"};
static card SCRIPTED[CARDS_MOST];
static u64 said[CARDS_MOST][WORDS], told_xid[CARDS_MOST];
static unsigned scripted(void) {
    const char *path = getenv("FAKE_NVML_STATE");
    FILE *file = path ? fopen(path, "r") : 0;
    char line[1024];
    unsigned count = 0;
    while (file && count < CARDS_MOST && fgets(line, sizeof line, file)) {
        if (line[0] == '#' || line[0] == '\n') continue;
        for (int word = 0; word < WORDS; word++) said[count][word] = UNSAID;
        for (char *save = 0, *one = strtok_r(line, " \n", &save); one; one = strtok_r(0, " \n", &save)) {
            char *mark = strchr(one, '=');
            if (!mark) continue;
            *mark = 0;
            for (int word = 0; word < WORDS; word++)
                if (!strcmp(one, NAMES[word])) said[count][word] = strtoull(mark + 1, 0, 10);
        }
        SCRIPTED[count] = (card){"NVIDIA H100 80GB HBM3", said[count][TOTAL] == UNSAID ? 81559 : said[count][TOTAL],
                                 said[count][USED] == UNSAID ? 0 : said[count][USED], 9, 0, 0, 0, 0};
        count++;
    }
    if (file) fclose(file);
    return count;
}
static const char *story(void) { const char *s = getenv("FAKE_NVML"); return s ? s : "none"; }
static int is(const char *name) { return !strcmp(story(), name); }

static unsigned cards(const card **found) {
#define TELL(name, list) if (is(name)) { *found = list; return sizeof list / sizeof *list; }
    TELL("desktop", DESKTOP) TELL("hgx", HGX) TELL("unequal", UNEQUAL) TELL("cut", CUT) TELL("lost", LOSING) TELL("busy", BUSY) TELL("three", THREE)
    TELL("laptop", LAPTOP) TELL("newer", NEWER) TELL("unified", UNIFIED) TELL("denied", DESKTOP) TELL("hang", DESKTOP)
    if (is("scripted")) { *found = SCRIPTED; return scripted(); }
    *found = 0;
    return 0;
}

static int place(void *handle) { return (int)((long)handle & 0xfff) - 1; }
static int is_slice(void *handle) { return ((long)handle & SLICE) != 0; }
static const card *of(void *handle) {
    const card *found;
    unsigned count = cards(&found);
    int at = is_slice(handle) ? 0 : place(handle);
    return at >= 0 && (unsigned)at < count ? found + at : 0;
}
#define CARD(handle) const card *c = of(handle); if (!c) return INVALID; if (is("lost") && c != LOSING) return LOST; (void)c; \
    if (is("scripted")) { if (said[place(handle)][SLOW] != UNSAID) usleep(1000 * said[place(handle)][SLOW]); \
                          if (said[place(handle)][GONE] == 1) return LOST; }
#define SAY(word, value) CARD(h) if (!is("scripted") || said[place(h)][word] == UNSAID) return UNSUPPORTED; value = said[place(h)][word]; return OK;

int nvmlInit_v2(void) { return is("no_driver") ? NO_DRIVER : is("mismatch") ? MISMATCH : OK; }
int nvmlInitWithFlags(unsigned flags) { (void)flags; return nvmlInit_v2(); }
int nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(int code) {
    return code == LOST ? "GPU is lost" : code == DENIED ? "Insufficient Permissions"
         : code == NO_DRIVER ? "Driver Not Loaded" : code == MISMATCH ? "RM has detected an NVML/RM version mismatch." : "Error";
}
int nvmlSystemGetDriverVersion(char *text, unsigned size) { snprintf(text, size, "580.65.06"); return OK; }
int nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = 13000; return OK; }
int nvmlSystemGetProcessName(unsigned pid, char *text, unsigned size) {
    snprintf(text, size, pid == 1001 ? "/usr/lib/xorg/Xorg" : "/usr/bin/python3 train.py");
    return OK;
}
int nvmlDeviceGetCount_v2(unsigned *count) {
    const card *found;
    if (is("hang")) sleep(60);
    *count = cards(&found);
    return OK;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned at, void **handle) { *handle = (void *)(long)(at + 1); return OK; }
int nvmlDeviceGetName(void *h, char *text, unsigned size) {
    CARD(h) snprintf(text, size, "%s", is_slice(h) ? SLICES[place(h)].name : c->name);
    return OK;
}
int nvmlDeviceGetUUID(void *h, char *text, unsigned size) {
    CARD(h) snprintf(text, size, is_slice(h) ? "MIG-%08d" : "GPU-%08d", place(h));
    return OK;
}
int nvmlDeviceGetPciInfo_v3(void *h, pci_info *info) {
    CARD(h) memset(info, 0, sizeof *info);
    snprintf(info->bus_id, sizeof info->bus_id, "00000000:%02X:00.0", place(h) + 1);
    return OK;
}
int nvmlDeviceGetMemoryInfo(void *h, memory_v1 *m) {
    CARD(h) if (!c->total_mib) return UNSUPPORTED;
    m->total = (is_slice(h) ? SLICES[place(h)].mib : c->total_mib) * MIB;
    m->used = is_slice(h) ? 0 : c->used_mib * MIB + RESERVED;
    m->free = m->total - m->used;
    return OK;
}
#ifndef OLD
int nvmlDeviceGetMemoryInfo_v2(void *h, memory_v2 *m) {
    CARD(h) if (!c->total_mib) return UNSUPPORTED;
    m->total = (is_slice(h) ? SLICES[place(h)].mib : c->total_mib) * MIB;
    m->reserved = is_slice(h) ? 0 : RESERVED;
    m->used = is_slice(h) ? 0 : c->used_mib * MIB;
    m->free = m->total - m->reserved - m->used;
    return OK;
}
#endif
static int holding(void *h, unsigned pid, unsigned share, unsigned *count, process *list) {
    CARD(h) if (is("denied")) return DENIED;
    if (c->used_mib < 100) { *count = 0; return OK; }
    if (!list || *count < 1) { *count = 1; return SMALL; }
    *count = 1;
    list[0] = (process){pid, c->used_mib * MIB * share / 100, 0, 0};
    return OK;
}
int nvmlDeviceGetComputeRunningProcesses_v2(void *h, unsigned *n, process *p) { return holding(h, 2002, 40, n, p); }
int nvmlDeviceGetGraphicsRunningProcesses_v2(void *h, unsigned *n, process *p) { return holding(h, 1001, 60, n, p); }
#ifndef OLD
int nvmlDeviceGetComputeRunningProcesses_v3(void *h, unsigned *n, process *p) { return holding(h, 2002, 40, n, p); }
int nvmlDeviceGetGraphicsRunningProcesses_v3(void *h, unsigned *n, process *p) { return holding(h, 1001, 60, n, p); }
#endif
int nvmlDeviceGetCudaComputeCapability(void *h, int *major, int *minor) {
    CARD(h) *major = c->major; *minor = c->minor;
    return OK;
}
int nvmlDeviceGetEnforcedPowerLimit(void *h, unsigned *mw) {
    CARD(h) if (is("denied")) return DENIED;
    *mw = is("scripted") && said[place(h)][LIMIT] != UNSAID ? said[place(h)][LIMIT] : 450000;
    return OK;
}
typedef struct { unsigned gpu, memory; } shares;
typedef struct { void *device; u64 type, data; unsigned gpu_instance, compute_instance; } happening;
int nvmlDeviceGetPowerUsage(void *h, unsigned *mw) { SAY(POWER, *mw) }
int nvmlDeviceGetTotalEnergyConsumption(void *h, u64 *mj) { SAY(ENERGY, *mj) }
int nvmlDeviceGetTemperature(void *h, int sensor, unsigned *celsius) { (void)sensor; SAY(TEMP, *celsius) }
int nvmlDeviceGetClockInfo(void *h, int kind, unsigned *mhz) { SAY(kind == 2 ? MEM : SM, *mhz) }
int nvmlDeviceGetPcieReplayCounter(void *h, unsigned *count) { SAY(REPLAYS, *count) }
int nvmlDeviceGetTotalEccErrors(void *h, int kind, int since, u64 *count) { (void)since; SAY(kind == 1 ? UNCORRECTED : CORRECTED, *count) }
#ifndef OLD
int nvmlDeviceGetCurrentClocksEventReasons(void *h, u64 *bits) { SAY(THROTTLE, *bits) }
#endif
int nvmlDeviceGetCurrentClocksThrottleReasons(void *h, u64 *bits) { SAY(THROTTLE, *bits) }
int nvmlDeviceGetUtilizationRates(void *h, shares *s) {
    CARD(h) if (!is("scripted") || said[place(h)][WORKING] == UNSAID) return UNSUPPORTED;
    s->gpu = said[place(h)][WORKING];
    s->memory = said[place(h)][MEMORY_BUSY] == UNSAID ? 0 : said[place(h)][MEMORY_BUSY];
    return OK;
}
int nvmlEventSetCreate(void **set) { if (!is("scripted")) return UNSUPPORTED; *set = (void *)1; return OK; }
int nvmlDeviceRegisterEvents(void *h, u64 kinds, void *set) { (void)kinds; (void)set; CARD(h) return OK; }
int nvmlEventSetWait_v2(void *set, happening *one, unsigned ms) {
    (void)set; (void)ms;
    unsigned count = scripted();
    for (unsigned at = 0; at < count; at++)
        if (said[at][XID] != UNSAID && said[at][XID] != told_xid[at]) {
            told_xid[at] = said[at][XID];
            *one = (happening){(void *)(long)(at + 1), 8, said[at][XID], 0, 0};
            return OK;
        }
    return TIMED_OUT;
}
int nvmlEventSetFree(void *set) { (void)set; return OK; }
int nvmlDeviceGetEccMode(void *h, unsigned *now, unsigned *later) {
    CARD(h) if (c->major == 8 && c->minor) return UNSUPPORTED;
    *now = *later = 1;
    return OK;
}
int nvmlDeviceGetMigMode(void *h, unsigned *now, unsigned *later) {
    CARD(h) if (c->minor) return UNSUPPORTED;
    *now = *later = c->mig;
    return OK;
}
int nvmlDeviceGetMaxMigDeviceCount(void *h, unsigned *count) { CARD(h) *count = 7; return OK; }
int nvmlDeviceGetMigDeviceHandleByIndex(void *h, unsigned at, void **slice) {
    CARD(h) if (at >= sizeof SLICES / sizeof *SLICES) return NOT_FOUND;
    *slice = (void *)(long)(SLICE + at + 1);
    return OK;
}
int nvmlDeviceGetDisplayActive(void *h, unsigned *on) { CARD(h) *on = c->display; return OK; }
int nvmlDeviceGetCurrPcieLinkGeneration(void *h, unsigned *v) { CARD(h) *v = 4; return OK; }
int nvmlDeviceGetMaxPcieLinkGeneration(void *h, unsigned *v) { CARD(h) *v = 4; return OK; }
int nvmlDeviceGetCurrPcieLinkWidth(void *h, unsigned *v) { CARD(h) *v = is("desktop") ? 8 : 16; return OK; }
int nvmlDeviceGetMaxPcieLinkWidth(void *h, unsigned *v) { CARD(h) *v = 16; return OK; }
int nvmlDeviceGetNvLinkState(void *h, unsigned link, unsigned *on) {
    CARD(h) if (!c->links) return UNSUPPORTED;
    if ((int)link >= c->links) return INVALID;
    *on = 1;
    return OK;
}
int nvmlDeviceGetP2PStatus(void *a, void *b, int kind, int *status) { (void)b; CARD(a) (void)kind; *status = c->links ? 0 : 1; return OK; }
