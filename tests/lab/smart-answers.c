// Changes what a drive answers before smartctl sees it, so that smartctl itself prints what it prints of failing drives.
//
//   gcc -O1 -shared -fPIC -o smart-answers.so smart-answers.c -ldl
//   SMART_ANSWERS=standby LD_PRELOAD=./smart-answers.so smartctl --json -a -n standby /dev/sda
//
// SMART_ANSWERS: standby | packed | pending | failing | self-test | testing (SATA), nvme-failing, nvme-worn (NVMe).
// The structures are those of ATA8-ACS, SAT and NVMe 1.4; see docs/smart.md for the values.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/nvme_ioctl.h>
#include <scsi/sg.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

static int is(const char *what) {
  const char *asked = getenv("SMART_ANSWERS");
  return asked && !strcmp(asked, what);
}

static void sum(uint8_t *sector) { // all 512 bytes add up to 0
  uint8_t total = 0;
  for (int i = 0; i < 511; i++) total += sector[i];
  sector[511] = -total;
}

// SMART READ DATA: 30 lines of 12 bytes; SMART READ THRESHOLDS has the same places.
static void attribute(uint8_t *sector, int is_threshold, int id, int flags, int value, int threshold, uint64_t raw) {
  for (uint8_t *line = sector + 2; line < sector + 2 + 30 * 12; line += 12)
    if (line[0] == id || line[0] == 0) {
      memset(line, 0, 12);
      line[0] = id;
      if (is_threshold) line[1] = threshold;
      else {
        line[1] = flags, line[3] = value, line[4] = value;
        memcpy(line + 5, &raw, 6);
      }
      return;
    }
}

static void data(uint8_t *sector, int thresholds) {
  if (is("packed")) { // of an Exos X16 that has run for years: three counters in 188, extremes in 194
    attribute(sector, thresholds, 187, 0x32, 100, 0, 0);
    attribute(sector, thresholds, 188, 0x32, 100, 0, 51540393996);
    attribute(sector, thresholds, 194, 0x22, 26, 0, 98784247834);
    attribute(sector, thresholds, 197, 0x12, 100, 0, 0);
    attribute(sector, thresholds, 198, 0x10, 100, 0, 0);
    attribute(sector, thresholds, 199, 0x3e, 200, 0, 87);
  }
  if (is("pending")) {
    attribute(sector, thresholds, 197, 0x12, 100, 0, 8);
    attribute(sector, thresholds, 198, 0x10, 100, 0, 8);
  }
  if (is("failing")) attribute(sector, thresholds, 5, 0x33, 1, 36, 2040);
  if (is("self-test") && !thresholds) sector[363] = 0x79;
  if (is("testing") && !thresholds) sector[363] = 0xf9;
  sum(sector);
}

static void self_tests(uint8_t *sector) { // 21 lines of 24 bytes, the last number in 508
  uint8_t line[24] = {2, 0x79, 0x10, 0x27, 0x79, 0x40, 0xe2, 0x01, 0x00}; // extended, read failure, 10000 h, LBA 123456
  memset(sector, 0, 512);
  sector[0] = 1, sector[508] = 1;
  memcpy(sector + 2, line, sizeof line);
  sum(sector);
}

static void sat(sg_io_hdr_t *io) {
  uint8_t *cdb = io->cmdp, *buffer = io->dxferp, *sense = io->sbp;
  if (io->interface_id != 'S' || io->cmd_len < 16 || cdb[0] != 0x85) return;
  int command = cdb[14], feature = cdb[4], log = cdb[8];
  // The ATA Status Return descriptor holds the registers.
  uint8_t *registers = sense && io->sb_len_wr >= 22 && sense[0] == 0x72 && sense[8] == 9 ? sense + 8 : NULL;
  if (command == 0xe5 && registers && is("standby")) registers[5] = 0;
  if (command != 0xb0) return;
  if (feature == 0xda && registers && is("failing")) registers[9] = 0xf4, registers[11] = 0x2c;
  if (!buffer || io->dxfer_len < 512) return;
  if (feature == 0xd0 || feature == 0xd1) data(buffer, feature == 0xd1);
  if (feature == 0xd5 && log == 6 && is("self-test")) self_tests(buffer);
}

static void nvme(struct nvme_passthru_cmd *command) {
  uint8_t *log = (uint8_t *)(uintptr_t)command->addr;
  if (command->opcode != 2 || (command->cdw10 & 0xff) != 2 || command->data_len < 512) return;
  if (is("nvme-failing")) log[0] = 0x05, log[3] = 3, log[4] = 10, log[160] = 7; // spare low and unreliable; media errors
  if (is("nvme-worn")) log[5] = 97;
}

int ioctl(int fd, unsigned long request, ...) {
  va_list arguments;
  va_start(arguments, request);
  void *argument = va_arg(arguments, void *);
  va_end(arguments);
  int (*real)(int, unsigned long, ...) = dlsym(RTLD_NEXT, "ioctl");
  int result = real(fd, request, argument);
  if (result >= 0 && request == SG_IO) sat(argument);
  if (result >= 0 && request == NVME_IOCTL_ADMIN_CMD) nvme(argument);
  return result;
}
