# Files only: images, and traces under the names that the documents use. What a trace is, its content says.
# shellcheck shell=bash disable=SC2154
(
  cd "$work/fixtures" || exit
  trace usr_0 >usr.csv
  gzip -k usr.csv
  cp usr.csv sda.blktrace.0
  cp usr.csv trace.blktrace.0
  trace 0 >hplajw.srt && xz hplajw.srt
  trace 1 2 >cello.srt && xz cello.srt
  trace 1f0260 1f0160 >cello.srt && bzip2 cello.srt
  trace src1_0 src1_1 >src1.csv
  gzip -k src1.csv
  scrubjay trace convert usr.csv --to msr proj_0.csv >/dev/null 2>&1
  gzip proj_0.csv
  scrubjay trace convert proj_0.csv.gz sda.parquet >/dev/null
  scrubjay trace generate --like proj_0.csv.gz --save proj.json >/dev/null 2>&1
  scrubjay tune usr.csv --config sda.toml >/dev/null 2>&1
  mkdir -p volumes && cp proj_0.csv.gz volumes
)
# Nothing is there yet that the commands write.
unwritten() { rm -f proj.json sda.toml; }
arrange() {
  cp -r "$work/fixtures/." .
  truncate -s 8M disk.img
  for name in a b c d e f; do truncate -s 64M "$name.img"; done
}
