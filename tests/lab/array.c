/* An array of disks with one head each, or one that a limit hides, as a regular file whose reads and writes take an array's
 * time. Used by ./array-disk. A file system of its own (FUSE, spoken here without a library: nbdfuse has ten requests under
 * way at most, and a mirror's disks want more).
 *
 *   array MOUNTPOINT img=FILE [NAME=VALUE]...     MOUNTPOINT is a file; ends when it is unmounted
 *
 *   img=FILE           holds the data, in the order in which a reader sees them: only times are an array's
 *   map=NAME           raid0, raid1 (pairs), raid4, raid5 (left-symmetric), raid6 (as Linux lays it out), joined (one disk behind the other)
 *   disks=N            heads, up to 64
 *   chunk=BYTES        of the map
 *   lost=N             this disk is not there: what it held is computed from the others
 *   seek_us=N          for a request that starts more than 1 MiB from where its head is, and for each write of what was just read
 *   kbps=N             rate of each medium in 1000 bytes a second; 0: no limit
 *   iops=N             so many requests pass in a second, whatever they ask for; 0: no limit
 *   cache=BYTES        writes are answered as long as so many bytes wait to be written; 0: each waits for its disks
 *   queue=N            requests under way at a time, up to 512
 *
 * Each head serves one request at a time, in the order of arrival. A small write of an array with parities reads what is there and
 * the parities, and writes both. Parities are times, too: none is kept, and what is lost in the map is in the image.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define HEADS_MAX 64
#define NEAR (1 << 20) /* as in faulty.c */
#define WRITES_MAX (1 << 16)
#define REQUEST_MAX (1 << 20)

enum map { RAID0, RAID1, RAID4, RAID5, RAID6, JOINED };
static const char *const map_names[] = {"raid0", "raid1", "raid4", "raid5", "raid6", "joined"};

static const char *image_path;
static enum map map;
static int64_t disks = 1, chunk = 65536, lost = -1, seek_us, kbps, iops, cache_bytes, queue = 256;
static int image;
static int64_t image_bytes;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all that follows */
static struct { int64_t free_ns, at; } heads[HEADS_MAX];
static int64_t limit_free_ns;
static struct { int64_t until_ns, bytes; } waiting[WRITES_MAX]; /* writes that the cache holds, in a ring */
static unsigned waiting_from, waiting_to;
static int64_t cached;

static bool config(const char *key, const char *value) {
  const struct { const char *key; int64_t *value; } numbers[] = {
      {"disks", &disks}, {"chunk", &chunk}, {"lost", &lost}, {"seek_us", &seek_us},
      {"kbps", &kbps},   {"iops", &iops},   {"cache", &cache_bytes},
      {"queue", &queue},
  };
  if (!strcmp(key, "img")) return (image_path = value);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    if (!strcmp(key, numbers[i].key)) return *numbers[i].value = atoll(value), true;
  if (!strcmp(key, "map"))
    for (size_t i = 0; i < sizeof map_names / sizeof *map_names; i++)
      if (!strcmp(value, map_names[i])) return map = i, true;
  return false;
}

static int64_t parities(void) { return map == RAID6 ? 2 : map == RAID4 || map == RAID5 ? 1 : 0; }
static int64_t data(void) { return map == RAID1 ? disks / 2 : disks - parities(); }

static const char *get_ready(void) {
  struct stat status;
  if (disks < 1 || disks > HEADS_MAX || chunk < 512 || data() < 1 || (map == RAID1 && disks % 2) || queue < 1 ||
      queue > 512)
    return "no such array";
  if (!image_path || (image = open(image_path, O_RDWR)) < 0 || fstat(image, &status) < 0) return "img";
  image_bytes = status.st_size / 512 * 512;
  return NULL;
}

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* A head serves a piece, from this time on at the earliest: when it is done. */
static int64_t serve_one(int64_t disk, int64_t at, int64_t count, bool again, int64_t from) {
  int64_t start = heads[disk].free_ns > from ? heads[disk].free_ns : from;
  if (again || llabs((long long)(at - heads[disk].at)) > NEAR) start += seek_us * 1000;
  if (kbps) start += count * 1000000 / kbps;
  heads[disk].at = at + count;
  return heads[disk].free_ns = start;
}

static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }

/* The same for a piece of one chunk, on all disks that it takes. Of a write with parities what is there is read first; a second
 * turn writes. */
static int64_t serve_piece(int64_t offset, int64_t count, bool is_write, bool is_second, int64_t now) {
  int64_t d = data(), stripe = offset / chunk / d, slot = offset / chunk % d, at = stripe * chunk + offset % chunk;
  int64_t first = disks, disk = slot; /* first: the first parity */
  if (map == JOINED) {
    int64_t each = image_bytes / disks / 512 * 512;
    disk = offset / each < disks ? offset / each : disks - 1;
    at = offset - disk * each;
  }
  if (map == RAID1) {
    int64_t one = 2 * slot, other = one + 1;
    if (is_write || lost == one || lost == other) {
      int64_t until = now;
      for (int64_t i = one; i <= other; i++)
        if (i != lost) until = later(until, serve_one(i, at, count, is_write, now));
      return until;
    }
    return serve_one(heads[one].free_ns <= heads[other].free_ns ? one : other, at, count, false, now);
  }
  if (map == RAID4) first = disks - 1;
  if (map == RAID5 || map == RAID6) {
    first = disks - 1 - stripe % disks;
    disk = (first + parities() + slot) % disks;
  }
  int64_t until = now;
  if (is_second) {
    if (disk != lost) until = later(until, serve_one(disk, at, count, true, now));
    for (int64_t i = 0; i < parities(); i++)
      if ((first + i) % disks != lost) until = later(until, serve_one((first + i) % disks, at, count, true, now));
    return until;
  }
  if (disk == lost && parities()) { /* all others are read; a write then writes the parity only */
    for (int64_t i = 0; i < disks; i++)
      if (i != lost) until = later(until, serve_one(i, at, count, false, now));
  } else {
    until = serve_one(disk, at, count, false, now);
  }
  for (int64_t i = 0; is_write && i < parities(); i++)
    if ((first + i) % disks != lost) until = later(until, serve_one((first + i) % disks, at, count, false, now));
  return until;
}

/* Serves all pieces of a request, from this time on: when that is done. */
static int64_t serve_pieces(int64_t offset, int64_t count, bool is_write, bool is_second, int64_t now) {
  int64_t until = now;
  for (int64_t done = 0; done < count;) {
    int64_t piece = chunk - (offset + done) % chunk;
    if (piece > count - done) piece = count - done;
    until = later(until, serve_piece(offset + done, piece, is_write, is_second, now));
    done += piece;
  }
  return until;
}

static void sleep_until(int64_t ns) {
  struct timespec end = {ns / 1000000000, ns % 1000000000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR);
}

/* When a write is answered that the disks are done with then: as soon as the oldest have made room for it in the cache. */
static int64_t cache(int64_t count, int64_t until, int64_t now) {
  int64_t answer = now;
  while (waiting_from != waiting_to) {
    unsigned oldest = waiting_from % WRITES_MAX;
    bool is_full = cached + count > cache_bytes || waiting_to - waiting_from == WRITES_MAX;
    if (waiting[oldest].until_ns > now && !is_full) break;
    answer = later(answer, waiting[oldest].until_ns);
    cached -= waiting[oldest].bytes;
    waiting_from++;
  }
  unsigned newest = waiting_to++ % WRITES_MAX;
  waiting[newest].until_ns = until, waiting[newest].bytes = count;
  cached += count;
  return answer;
}

/* Queues one request, and waits until it is served. */
static void serve(int64_t offset, int64_t count, bool is_write) {
  bool has_second = is_write && parities();
  pthread_mutex_lock(&lock);
  int64_t now = now_ns();
  if (iops) now = limit_free_ns = later(limit_free_ns, now) + 1000000000LL / iops;
  int64_t until = serve_pieces(offset, count, is_write, false, now);
  if (is_write && cache_bytes) {
    if (has_second) until = serve_pieces(offset, count, true, true, until);
    until = cache(count, until, now);
  } else if (has_second) {
    /* What it writes is queued when it is known, and not before: disks do not wait for it. */
    pthread_mutex_unlock(&lock);
    sleep_until(until);
    pthread_mutex_lock(&lock);
    until = serve_pieces(offset, count, true, true, now_ns());
  }
  pthread_mutex_unlock(&lock);
  sleep_until(until);
}

/* ---- the file system: its root is the file */

static int device; /* /dev/fuse */

static void answer(const struct fuse_in_header *to, int error, const void *body, size_t count) {
  struct fuse_out_header header = {.len = sizeof header + count, .error = -error, .unique = to->unique};
  const struct iovec parts[] = {{&header, sizeof header}, {(void *)body, count}};
  if (writev(device, parts, count ? 2 : 1) < 0 && errno != ENOENT) perror("array: answer"); /* ENOENT: interrupted */
}

static void handle(struct fuse_in_header *in, void *buffer) {
  void *body = in + 1;
  switch (in->opcode) {
  case FUSE_INIT: {
    struct fuse_init_in *ours = body;
    struct fuse_init_out out = {
        .major = FUSE_KERNEL_VERSION,
        .minor = ours->minor < FUSE_KERNEL_MINOR_VERSION ? ours->minor : FUSE_KERNEL_MINOR_VERSION,
        .max_readahead = 0,
        .flags = ours->flags & (FUSE_ASYNC_READ | FUSE_BIG_WRITES | FUSE_MAX_PAGES | FUSE_PARALLEL_DIROPS | FUSE_ASYNC_DIO),
        .max_background = queue,
        .congestion_threshold = queue,
        .max_write = REQUEST_MAX,
        .time_gran = 1,
        .max_pages = REQUEST_MAX / 4096,
    };
    return answer(in, 0, &out, sizeof out);
  }
  case FUSE_GETATTR: {
    struct fuse_attr_out out = {.attr_valid = 3600};
    out.attr = (struct fuse_attr){.ino = 1, .size = image_bytes, .blocks = image_bytes / 512, .mode = S_IFREG | 0600, .nlink = 1, .blksize = 4096};
    return answer(in, 0, &out, sizeof out);
  }
  case FUSE_OPEN: {
    struct fuse_open_out out = {.open_flags = FOPEN_PARALLEL_DIRECT_WRITES};
    return answer(in, 0, &out, sizeof out);
  }
  case FUSE_READ: {
    struct fuse_read_in *read = body;
    serve(read->offset, read->size, false);
    ssize_t n = pread(image, buffer, read->size, read->offset);
    return n < 0 ? answer(in, EIO, NULL, 0) : answer(in, 0, buffer, n);
  }
  case FUSE_WRITE: {
    struct fuse_write_in *write = body;
    struct fuse_write_out out = {.size = write->size};
    serve(write->offset, write->size, true);
    ssize_t n = pwrite(image, write + 1, write->size, write->offset);
    return n != (ssize_t)write->size ? answer(in, EIO, NULL, 0) : answer(in, 0, &out, sizeof out);
  }
  case FUSE_FSYNC: return answer(in, fdatasync(image) ? EIO : 0, NULL, 0);
  case FUSE_SETATTR: case FUSE_FLUSH: case FUSE_RELEASE: case FUSE_DESTROY: return answer(in, 0, NULL, 0);
  case FUSE_FORGET: case FUSE_BATCH_FORGET: case FUSE_INTERRUPT: return;
  default: return answer(in, ENOSYS, NULL, 0);
  }
}

/* Takes one request after the other, until the file is unmounted. */
static void *work(void *nothing) {
  char *in = malloc(REQUEST_MAX + 65536), *buffer = malloc(REQUEST_MAX);
  for (;;) {
    ssize_t n = read(device, in, REQUEST_MAX + 65536);
    if (n < 0 && (errno == EINTR || errno == EAGAIN || errno == ENOENT)) continue;
    if (n < (ssize_t)sizeof(struct fuse_in_header)) exit(0);
    handle((struct fuse_in_header *)in, buffer);
  }
  return nothing;
}

int main(int count, char **arguments) {
  for (int i = 2; i < count; i++) {
    char *value = strchr(arguments[i], '=');
    if (value) *value++ = 0;
    if (!value || !config(arguments[i], value)) return fprintf(stderr, "array: %s?\n", arguments[i]), 2;
  }
  const char *why = count < 2 ? "where?" : get_ready();
  if (why) return fprintf(stderr, "array: %s\n", why), 2;
  char options[80];
  if ((device = open("/dev/fuse", O_RDWR | O_CLOEXEC)) < 0) return perror("array: /dev/fuse"), 1;
  snprintf(options, sizeof options, "fd=%d,rootmode=100600,user_id=0,group_id=0,max_read=%d", device, REQUEST_MAX);
  if (mount("array", arguments[1], "fuse", MS_NOSUID | MS_NODEV, options) < 0) return perror("array: mount"), 1;
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 1 << 17);
  for (int i = 0; i < queue; i++) {
    pthread_t thread;
    if (pthread_create(&thread, &small, work, NULL)) return fprintf(stderr, "array: no thread\n"), 1;
  }
  work(NULL);
}
