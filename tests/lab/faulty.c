/* One disk with bad sectors and, if wished, the timing of a hard disk: an nbdkit plugin. Used by ./faulty-disk.
 *
 *   img=FILE           holds the data, below all faults
 *   bad=S[+N],...      sectors (512 bytes) that cannot be read; a write heals them, as a disk's remapping does
 *   seek_us=N          for a request that starts more than 1 MiB from where the last one ended
 *   kbps=N             rate of the medium in 1000 bytes a second; 0: no limit
 *   err_ms=N           what a read that fails costs on top
 *   slow=S[+N],...     sectors at which the medium is slower: a request that begins there takes slow_pct percent of its time (150 if not said)
 *   hold=FILE          while this file is there, which holds a number, reads wait once so many bytes were read in all
 *
 * It models one head that serves one request at a time, in the order of arrival. It does not model caches, read-ahead
 * or rotation, and NBD carries no error but EIO to the kernel.
 */
#define _GNU_SOURCE /* SEEK_DATA */
#define NBDKIT_API_VERSION 2
#define THREAD_MODEL NBDKIT_THREAD_MODEL_PARALLEL /* requests overlap in the queue; the head orders them */
#include <errno.h>
#include <fcntl.h>
#include <nbdkit-plugin.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SECTOR 512
#define NEAR (1 << 20) /* a guess: parallel pieces of one long read arrive this far out of order */

static char *image_path;
static char *hold_path;
static const char *bad_list = "";
static const char *slow_list = "";
static long seek_us, kbps, err_ms, slow_pct = 150;

static int image;
static int64_t image_bytes;
static unsigned char *bad, *slow; /* one byte a sector */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards `bad` and the head */
static int64_t head_free_ns;
static uint64_t head_at;
static uint64_t bytes_read; /* guarded by `lock`, too */

static int config(const char *key, const char *value) {
  if (!strcmp(key, "img")) return (image_path = nbdkit_absolute_path(value)) ? 0 : -1;
  if (!strcmp(key, "bad")) return (bad_list = strdup(value)) ? 0 : -1;
  if (!strcmp(key, "seek_us")) return seek_us = atol(value), 0;
  if (!strcmp(key, "kbps")) return kbps = atol(value), 0;
  if (!strcmp(key, "err_ms")) return err_ms = atol(value), 0;
  if (!strcmp(key, "slow")) return (slow_list = strdup(value)) ? 0 : -1;
  if (!strcmp(key, "slow_pct")) return slow_pct = atol(value), 0;
  if (!strcmp(key, "hold")) return (hold_path = nbdkit_absolute_path(value)) ? 0 : -1;
  nbdkit_error("unknown parameter %s", key);
  return -1;
}

/* Fills a table from "S[+N],...". */
static int mark(const char *list, unsigned char *table) {
  const char *p = list;
  while (*p) {
    char *end;
    int64_t start = strtoll(p, &end, 10), count = *end == '+' ? strtoll(end + 1, &end, 10) : 1;
    if (end == p || (*end && *end != ',') || start < 0 || count < 1 || start + count > image_bytes / SECTOR) {
      nbdkit_error("%s: not a sector of this disk", p);
      return -1;
    }
    memset(table + start, 1, count);
    p = *end ? end + 1 : end;
  }
  return 0;
}

static int get_ready(void) {
  struct stat status;
  if (!image_path || (image = open(image_path, O_RDWR)) < 0 || fstat(image, &status) < 0) {
    nbdkit_error("img: %m");
    return -1;
  }
  image_bytes = status.st_size / SECTOR * SECTOR;
  bad = calloc(image_bytes / SECTOR + 1, 1);
  slow = calloc(image_bytes / SECTOR + 1, 1);
  return bad && slow && !mark(bad_list, bad) ? mark(slow_list, slow) : -1;
}

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Are reads to wait? */
static bool is_held(void) {
  unsigned long long most;
  FILE *hold = fopen(hold_path, "r");
  if (!hold) return false;
  bool is_known = fscanf(hold, "%llu", &most) == 1;
  fclose(hold);
  pthread_mutex_lock(&lock);
  bool is_reached = is_known && bytes_read >= most;
  pthread_mutex_unlock(&lock);
  return is_reached;
}

/* Queues one request at the head. Says when it is served, and whether a sector of it is bad. */
static bool queue_at_head(uint64_t offset, uint32_t count, bool read, int64_t *until) {
  bool failed = false;
  while (read && hold_path && is_held()) usleep(10000);
  pthread_mutex_lock(&lock);
  if (read) bytes_read += count;
  for (uint64_t s = offset / SECTOR; s < (offset + count + SECTOR - 1) / SECTOR; s++) {
    if (read) failed |= bad[s];
    else bad[s] = 0;
  }
  int64_t now = now_ns(), distance = llabs((long long)(offset - head_at));
  if (head_free_ns < now) head_free_ns = now;
  if (distance > NEAR) head_free_ns += seek_us * 1000;
  if (kbps) head_free_ns += (int64_t)count * 1000000 / kbps * (slow[offset / SECTOR] ? slow_pct : 100) / 100;
  if (failed) head_free_ns += err_ms * 1000000;
  head_at = offset + count;
  *until = head_free_ns;
  pthread_mutex_unlock(&lock);
  return failed;
}

static void wait_until(int64_t time) {
  struct timespec done = {time / 1000000000, time % 1000000000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &done, NULL) == EINTR);
}

/* What was never written is not read from the file: that would fill the page cache with zeros, and whoever fills memory of a
   virtual machine for the first time waits for its host, up to 50 ms. */
static bool is_hole(uint64_t offset, uint32_t count) {
  off_t data = lseek(image, offset, SEEK_DATA);
  return data < 0 ? errno == ENXIO : (uint64_t)data >= offset + count;
}

static int plugin_pread(void *handle, void *buffer, uint32_t count, uint64_t offset, uint32_t flags) {
  (void)handle, (void)flags;
  int64_t until;
  bool failed = queue_at_head(offset, count, true, &until);
  uint32_t done = 0;
  if (!failed && is_hole(offset, count)) {
    memset(buffer, 0, count);
    done = count;
  }
  while (!failed && done < count) {
    ssize_t n = pread(image, (char *)buffer + done, count - done, offset + done);
    failed = n <= 0;
    if (n > 0) done += n;
  }
  wait_until(until);
  if (failed) nbdkit_set_error(EIO);
  return failed ? -1 : 0;
}

static int plugin_pwrite(void *handle, const void *buffer, uint32_t count, uint64_t offset, uint32_t flags) {
  (void)handle, (void)flags;
  int64_t until;
  queue_at_head(offset, count, false, &until);
  wait_until(until);
  for (uint32_t done = 0; done < count;) {
    ssize_t n = pwrite(image, (const char *)buffer + done, count - done, offset + done);
    if (n <= 0) return nbdkit_set_error(EIO), -1;
    done += n;
  }
  return 0;
}

static void *plugin_open(int readonly) { return (void)readonly, NBDKIT_HANDLE_NOT_NEEDED; }
static int64_t get_size(void *handle) { return (void)handle, image_bytes; }
static int can_multi_conn(void *handle) { return (void)handle, 1; }
static int plugin_flush(void *handle, uint32_t flags) { return (void)handle, (void)flags, fdatasync(image); }

static struct nbdkit_plugin plugin = {
    .name = "faulty",
    .config = config,
    .get_ready = get_ready,
    .open = plugin_open,
    .get_size = get_size,
    .can_multi_conn = can_multi_conn,
    .pread = plugin_pread,
    .pwrite = plugin_pwrite,
    .flush = plugin_flush,
};
NBDKIT_REGISTER_PLUGIN(plugin)
