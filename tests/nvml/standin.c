/* A stand-in for libnvidia-ml.so.1, for machines without a GPU.

   It answers what `script.txt` beside it says, read anew at each call, so that a test
   can change a value under a running program. A line is KEY=VALUE. Keys begin with the
   number of a card, or with that and the number of a part: `0.temperature`,
   `0.mig1.memory_used`. VALUE is a number or text; `!N` answers NVML's error N; `hang`
   does not come back until the script says otherwise. A line `@N KEY=VALUE` counts
   from the N-th time on that the memory of a device was asked for. What is not in the
   script is "not supported". Structs are laid out as in NVIDIA's nvml.h, which the
   bindings of pynvml repeat. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS = 0, INVALID = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, SMALL = 7, TIMEOUT = 10 };
enum { MOST = 64, PARTS = 8 };

typedef struct { int card; int part; int asked; int heard; } Device;

static Device devices[MOST][PARTS + 1];

static FILE *script(void) {
  Dl_info here;
  char path[4096];
  dladdr((void *)script, &here);
  snprintf(path, sizeof path, "%s", here.dli_fname);
  char *slash = strrchr(path, '/');
  snprintf(slash, sizeof path - (slash - path), "/script.txt");
  return fopen(path, "r");
}

/* The last line that holds for the key now; 1 if there is one. */
static int look(const char *key, int asked, char *value, size_t size) {
  char line[1024];
  int found = 0;
  FILE *file = script();
  if (!file) return 0;
  while (fgets(line, sizeof line, file)) {
    char *text = line;
    line[strcspn(line, "\n")] = 0;
    if (*text == '@') {
      if (strtol(text + 1, &text, 10) > asked) continue;
      while (*text == ' ') text++;
    }
    char *equals = strchr(text, '=');
    if (!equals) continue;
    *equals = 0;
    if (strcmp(text, key)) continue;
    snprintf(value, size, "%s", equals + 1);
    found = 1;
  }
  fclose(file);
  return found;
}

static int text_of(const char *key, int asked, char *value, size_t size) {
  for (;;) {
    if (!look(key, asked, value, size)) return NOT_SUPPORTED;
    if (value[0] == '!') return atoi(value + 1);
    if (strcmp(value, "hang")) return SUCCESS;
    usleep(5000);
  }
}

static int ask_text(Device *device, const char *what, char *value, size_t size) {
  char key[128];
  if (!device) return INVALID;
  if (device->part < 0) snprintf(key, sizeof key, "%d.%s", device->card, what);
  else snprintf(key, sizeof key, "%d.mig%d.%s", device->card, device->part, what);
  return text_of(key, device->asked, value, size);
}

static int ask(Device *device, const char *what, unsigned long long *value) {
  char text[512];
  int error = ask_text(device, what, text, sizeof text);
  if (!error) *value = strtoull(text, NULL, 0);
  return error;
}

static int ask_int(Device *device, const char *what, unsigned *value) {
  unsigned long long wide;
  int error = ask(device, what, &wide);
  if (!error) *value = (unsigned)wide;
  return error;
}

static int copy(int error, const char *text, char *buffer, unsigned size) {
  if (error) return error;
  if (strlen(text) >= size) return SMALL;
  strcpy(buffer, text);
  return SUCCESS;
}

static int system_text(const char *key, char *buffer, unsigned size) {
  char text[512];
  return copy(text_of(key, 0, text, sizeof text), text, buffer, size);
}

int nvmlInitWithFlags(unsigned flags) {
  char text[64];
  (void)flags;
  memset(devices, 0, sizeof devices);
  int error = text_of("init", 0, text, sizeof text);
  return error == NOT_SUPPORTED ? SUCCESS : error;
}
int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
int nvmlShutdown(void) { return SUCCESS; }
const char *nvmlErrorString(int error) {
  switch (error) {
    case 4: return "Insufficient Permissions";
    case 9: return "Driver Not Loaded";
    case 15: return "GPU is lost";
    case 16: return "GPU requires restart";
    default: return "Unknown Error";
  }
}
int nvmlSystemGetDriverVersion(char *buffer, unsigned size) { return system_text("driver", buffer, size); }
int nvmlSystemGetCudaDriverVersion(int *version) {
  char text[64];
  int error = text_of("cuda", 0, text, sizeof text);
  if (!error) *version = atoi(text);
  return error;
}
int nvmlSystemGetCudaDriverVersion_v2(int *version) { return nvmlSystemGetCudaDriverVersion(version); }
int nvmlDeviceGetCount_v2(unsigned *count) {
  char text[64];
  int error = text_of("devices", 0, text, sizeof text);
  if (!error) *count = (unsigned)atoi(text);
  return error;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned place, Device **device) {
  unsigned count = 0;
  int error = nvmlDeviceGetCount_v2(&count);
  if (error || place >= count || place >= MOST) return error ? error : INVALID;
  *device = &devices[place][PARTS];
  (*device)->card = (int)place;
  (*device)->part = -1;
  char text[64];
  error = ask_text(*device, "handle", text, sizeof text);
  return error == NOT_SUPPORTED ? SUCCESS : error;
}
int nvmlDeviceGetMigMode(Device *device, unsigned *now, unsigned *pending) {
  int error = ask_int(device, "mig", now);
  *pending = *now;
  return error;
}
int nvmlDeviceGetMaxMigDeviceCount(Device *device, unsigned *count) {
  (void)device;
  *count = PARTS - 1;
  return SUCCESS;
}
int nvmlDeviceGetMigDeviceHandleByIndex(Device *card, unsigned place, Device **part) {
  char text[128];
  if (place >= PARTS) return INVALID;
  *part = &devices[card->card][place];
  (*part)->card = card->card;
  (*part)->part = (int)place;
  return ask_text(*part, "uuid", text, sizeof text) ? NOT_FOUND : SUCCESS;
}
int nvmlDeviceGetUUID(Device *device, char *buffer, unsigned size) {
  char text[256];
  return copy(ask_text(device, "uuid", text, sizeof text), text, buffer, size);
}
int nvmlDeviceGetName(Device *device, char *buffer, unsigned size) {
  char text[256];
  return copy(ask_text(device, "name", text, sizeof text), text, buffer, size);
}
int nvmlDeviceGetMemoryInfo(Device *device, unsigned long long memory[3]) {
  device->asked++;
  int error = ask(device, "memory_total", &memory[0]);
  if (!error) error = ask(device, "memory_used", &memory[2]);
  if (!error) memory[1] = memory[0] - memory[2];
  return error;
}
int nvmlDeviceGetUtilizationRates(Device *device, unsigned busy[2]) {
  int error = ask_int(device, "busy", &busy[0]);
  if (!error && ask_int(device, "memory_busy", &busy[1])) busy[1] = 0;
  return error;
}
int nvmlDeviceGetTemperature(Device *device, unsigned sensor, unsigned *celsius) {
  return sensor ? INVALID : ask_int(device, "temperature", celsius);
}
int nvmlDeviceGetTemperatureThreshold(Device *device, unsigned kind, unsigned *celsius) {
  return ask_int(device, kind == 0 ? "shutdown" : kind == 1 ? "slowdown" : "other", celsius);
}
int nvmlDeviceGetPowerUsage(Device *device, unsigned *milliwatts) { return ask_int(device, "power", milliwatts); }
int nvmlDeviceGetEnforcedPowerLimit(Device *device, unsigned *milliwatts) { return ask_int(device, "power_limit", milliwatts); }
int nvmlDeviceGetClockInfo(Device *device, unsigned kind, unsigned *megahertz) {
  return kind == 1 ? ask_int(device, "sm_clock", megahertz) : INVALID;
}
int nvmlDeviceGetMaxClockInfo(Device *device, unsigned kind, unsigned *megahertz) {
  return kind == 1 ? ask_int(device, "sm_clock_max", megahertz) : INVALID;
}
#ifndef OLD_DRIVER
int nvmlDeviceGetCurrentClocksEventReasons(Device *device, unsigned long long *bits) { return ask(device, "throttle", bits); }
#endif
int nvmlDeviceGetCurrentClocksThrottleReasons(Device *device, unsigned long long *bits) { return ask(device, "throttle", bits); }
int nvmlDeviceGetFanSpeed(Device *device, unsigned *percent) { return ask_int(device, "fan", percent); }
int nvmlDeviceGetPerformanceState(Device *device, unsigned *state) { return ask_int(device, "state", state); }
int nvmlDeviceGetTotalEccErrors(Device *device, unsigned kind, unsigned counter, unsigned long long *count) {
  if (kind == 0) return counter ? INVALID : ask(device, "ecc_corrected", count);
  return kind == 1 ? ask(device, counter ? "ecc_lifetime" : "ecc", count) : INVALID;
}
int nvmlDeviceGetRemappedRows(Device *device, unsigned *fixed, unsigned *broken, unsigned *pending, unsigned *failed) {
  if (ask_int(device, "remapped", fixed)) *fixed = 0;
  if (ask_int(device, "remap_pending", pending)) *pending = 0;
  *broken = 0;
  return ask_int(device, "remap_failed", failed);
}
/* `0.retired=3`: all of them for double errors. */
int nvmlDeviceGetRetiredPages(Device *device, unsigned cause, unsigned *room, unsigned long long *pages) {
  unsigned count = 0, had = *room;
  int error = ask_int(device, "retired", &count);
  if (error) return error;
  if (cause != 1) count = 0;
  *room = count;
  if (!pages || had < count) return count ? SMALL : SUCCESS;
  for (unsigned page = 0; page < count; page++) pages[page] = 4096ULL * (page + 1);
  return SUCCESS;
}
/* As long as the real one counts. */
int nvmlDeviceGetPcieThroughput(Device *device, unsigned way, unsigned *kilobytes) {
  int error = ask_int(device, way == 0 ? "pcie_sent" : way == 1 ? "pcie_received" : "other", kilobytes);
  if (!error) usleep(20000);
  return error;
}
int nvmlDeviceGetNvLinkState(Device *device, unsigned link, unsigned *active) {
  unsigned up = 0;
  int error = ask_int(device, "nvlink_up", &up);
  *active = link < up;
  return error;
}

typedef union { double d; unsigned ui; unsigned long long ull; } Value;
typedef struct { unsigned field, scope; long long timestamp, latency; unsigned type; int error; Value value; } Field;

int nvmlDeviceGetFieldValues(Device *device, int count, Field *fields) {
  for (int place = 0; place < count; place++) {
    Field *one = &fields[place];
    unsigned every = 0xFFFFFFFFU;
    one->type = 3;
    switch (one->field) {
      case 91: one->type = 1; one->error = ask_int(device, "nvlink_links", &one->value.ui); break;
      case 138: one->error = one->scope == every ? ask(device, "nvlink_sent", &one->value.ull) : INVALID; break;
      case 139: one->error = one->scope == every ? ask(device, "nvlink_received", &one->value.ull) : INVALID; break;
      case 52: one->error = ask(device, "nvlink_replays", &one->value.ull); break;
      default: one->error = NOT_SUPPORTED;
    }
  }
  return SUCCESS;
}
int nvmlDeviceGetPcieReplayCounter(Device *device, unsigned *count) { return ask_int(device, "replays", count); }

typedef struct { unsigned pid; unsigned long long memory; unsigned instance; unsigned compute; } Process;

/* `0.processes=17:1024,18:-` ; "-" is memory that cannot be told. */
int nvmlDeviceGetComputeRunningProcesses_v3(Device *device, unsigned *room, Process *found) {
  char text[512], *rest, *word;
  unsigned count = 0;
  int error = ask_text(device, "processes", text, sizeof text);
  if (error) return error;
  for (word = strtok_r(text, ",", &rest); word; word = strtok_r(NULL, ",", &rest), count++) {
    if (!found || count >= *room) continue;
    char *colon = strchr(word, ':');
    found[count].pid = (unsigned)atoi(word);
    found[count].memory = colon && colon[1] != '-' ? strtoull(colon + 1, NULL, 10) : ~0ULL;
    found[count].instance = found[count].compute = ~0U;
  }
  error = count > *room ? SMALL : SUCCESS;
  *room = count;
  return error;
}

typedef struct { unsigned pid; unsigned long long time; unsigned sm, memory, encoder, decoder; } Busy;

/* `0.process_busy=17:40,18:5`: in percent, told anew at each call. */
int nvmlDeviceGetProcessUtilization(Device *device, Busy *found, unsigned *room, unsigned long long since) {
  char text[512], *rest, *word;
  unsigned count = 0;
  int error = ask_text(device, "process_busy", text, sizeof text);
  if (error) return error;
  for (word = strtok_r(text, ",", &rest); word; word = strtok_r(NULL, ",", &rest), count++) {
    if (!found || count >= *room) continue;
    memset(&found[count], 0, sizeof found[count]);
    found[count].pid = (unsigned)atoi(word);
    found[count].time = since + 1;
    found[count].sm = (unsigned)atoi(strchr(word, ':') + 1);
  }
  error = !count ? NOT_FOUND : found ? SUCCESS : SMALL;
  *room = count;
  return error;
}

typedef struct { Device *device; } EventSet;
typedef struct { Device *device; unsigned long long type, data; unsigned instance, compute; } Event;

int nvmlEventSetCreate(EventSet **set) {
  *set = calloc(1, sizeof **set);
  return SUCCESS;
}
int nvmlEventSetFree(EventSet *set) {
  free(set);
  return SUCCESS;
}
int nvmlDeviceRegisterEvents(Device *device, unsigned long long types, EventSet *set) {
  char text[512];
  int error = ask_text(device, "xids", text, sizeof text);
  if (error) return error;
  if (types != 8) return INVALID;
  set->device = device;
  return SUCCESS;
}
/* `0.xids=48,79`: each is told once, in this order. */
int nvmlEventSetWait_v2(EventSet *set, Event *event, unsigned milliseconds) {
  char text[512], *rest, *word;
  int place = 0, error = ask_text(set->device, "xids", text, sizeof text);
  (void)milliseconds;
  if (error) return error;
  for (word = strtok_r(text, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
    if (place++ < set->device->heard) continue;
    set->device->heard++;
    memset(event, 0, sizeof *event);
    event->device = set->device;
    event->type = 8;
    event->data = strtoull(word, NULL, 10);
    return SUCCESS;
  }
  return TIMEOUT;
}
