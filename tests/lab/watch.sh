#!/bin/bash
# The watch from scratch: three disks, one with bad sectors, are found, read and reported by a real mail server and an HTTP receiver;
# channels are proven; servers are down, wrong or refuse; the daemon is killed again and again, its disk is full, and the clock is set
# back by a day. The calendar is accelerated (a day in some seconds), for these tests only.
# Usage: watch.sh [KILLS]. Exit: 0 all checks hold, 1 one does not, 77 cannot be run here. Needs root, jq, openssl, sqlite3 and
# what faulty-disk needs.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"
needs root fuse mount loop jq openssl sqlite3 nbdkit nbdfuse python3
"$here/smtp-server" --prepare || skip "no aiosmtpd, and none can be had"
kills=${1:-10} speed=5000
# The calendar begins on the second of next month: on the first of a month a report is sent, whose codes replace those of a test. (Two
# minutes here are a week there.)
now=$(date +%s)
from=$((now - ($(date -d "$(date +%Y-%m-02) 12:00 next month" +%s) - now) / (speed - 1)))
begin
export FAULTY_DIR=$work/disks SCRUBJAY_RUN=$work/run
end_last() {
  for name in a b c; do "$here/faulty-disk" destroy "$name" || true; done
  umount "$work/full" 2>/dev/null || true
}

# What TLS needs: a CA, a server's certificate by it, and a CA that signed nothing here.
authority() { # NAME
  openssl req -x509 -newkey rsa:2048 -nodes -keyout "$1.key" -out "$1.pem" -days 2 -subj "/CN=$1" 2>/dev/null
}
authority ca
authority other
openssl req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj "/CN=localhost" 2>/dev/null
openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -out server.pem \
  -extfile <(echo "subjectAltName=DNS:localhost,IP:127.0.0.1") 2>/dev/null

# A mail server. Its port is then in $port; its input is a pipe that this script holds open.
serve() { # PORT, 0: any
  local pipe=mail.in.$SECONDS.$RANDOM
  rm -f mail.port
  mkfifo "$pipe"
  exec {mail_in}<>"$pipe"
  "$here/smtp-server" mails --port "$1" --tls starttls --cert server.pem --key server.key --user nas --password secret \
    <&"$mail_in" >mail.port 2>mail.log &
  server=$!
  soon test -s mail.port
  port=$(cat mail.port)
}
unserve() {
  kill "$server"
  wait "$server" 2>/dev/null || true
}
# An HTTP receiver: each body is a line of hooks, each heartbeat one of hooks.beats.
cat >receiver.py <<'PYTHON'
import http.server, sys
class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        open(sys.argv[1], "ab").write(body.replace(b"\n", b" ") + b"\n")
        self.send_response(200)
        self.end_headers()
    def do_GET(self):
        open(sys.argv[1] + ".beats", "a").write("beat\n")
        self.send_response(200)
        self.end_headers()
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook)
print(server.server_address[1], flush=True)
server.serve_forever()
PYTHON
python3 receiver.py "$work/hooks" >hook.port &
soon test -s hook.port
hook=$(cat hook.port)
serve 0

bad=$("$here/faulty-disk" create a 64M bad=40000+8)
good=$("$here/faulty-disk" create b 64M)
third=$("$here/faulty-disk" create c 64M)
name=${bad#/dev/}
others=$(lsblk -dno NAME | grep -v '^loop' | sed 's/.*/"&"/' | paste -sd,)
echo secret >password && chmod 600 password
echo wrong >wrong-password && chmod 600 wrong-password
settings() { # CA PASSWORD-FILE
  cat >config.toml <<TOML
host = "nas1"
also = ["$bad", "$good", "$third"]
never = [$others]
[alert.email]
to = ["me@example.org"]
server = "localhost:$port"
user = "nas"
password-file = "$work/$2"
ca-file = "$work/$1.pem"
[alert.webhook]
url = "http://127.0.0.1:$hook/hook"
[alert.heartbeat]
url = "http://127.0.0.1:$hook/beat"
TOML
}
reload() { # a line of the journal says that it was read, or not
  local before
  before=$(grep -c '^\(settings read\|the settings stay\)' watch.log || true)
  kill -HUP "$daemon"
  is_reloaded() { [ "$(grep -c '^\(settings read\|the settings stay\)' watch.log)" -gt "$before" ]; }
  soon is_reloaded || fail "settings are read anew"
}
settings ca password
state=$work/state
watch() { # its process is then $daemon
  "$scrubjay" watch --config config.toml --state "$state" --test-calendar "$speed@$from" 2>>watch.log &
  daemon=$!
  soon test -S run/watch
}
unwatch() {
  kill "$daemon"
  wait "$daemon" 2>/dev/null || true
}
status() { "$scrubjay" status --json 2>/dev/null | jq -r ".watch | $1" 2>/dev/null || true; }
is_status() { [ "$(status "$1")" = "$2" ]; }
of_bad() { status "[.disks[] | select(.name == \"$name\")][0] | $1"; }
of_mail() { status "[.channels[] | select(.name == \"email\")][0].$1"; }
subjects() { grep -ih '^subject:' mails/*.eml 2>/dev/null || true; }
has_mail() { subjects | grep -q "$1"; }
mails_of() { subjects | grep -c "$1" || true; }

echo "# from nothing"
watch
soon is_status '.disks | length' 3 || fail "three disks are seen: $(status '.disks | length')"
soon is_status '.disks | map(select(.oldest_read != null)) | length' 3 || fail "all are read: $(status .disks)"
expect "bad sectors are found" "$(of_bad '[.health, .unreadable] | @tsv')" "replace	8"
expect "others are not known, and not blamed" "$(status '[.disks[] | select(.health == "unknown")] | length')" 2
nobody=0
setpriv --reuid=65534 --regid=65534 --clear-groups "$scrubjay" status >nobody 2>&1 || nobody=$?
expect "an ordinary user is told what to do, by the exit code, too" "$nobody $(grep -c 'sudo scrubjay status' nobody)" "4 1"
soon has_mail "REPLACE.*$name" || fail "a mail of the bad disk: $(subjects)"
letter=$(grep -il "^subject:.*REPLACE.*$name" mails/*.eml | head -1)
expect "marked as made by a machine" "$(grep -ci '^auto-submitted: auto-generated' "$letter")" 1
expect "with one Message-ID" "$(grep -ci '^message-id:' "$letter")" 1
expect "twenty lines at most" "$(sed '1,/^\r*$/d' "$letter" | wc -l | awk '{print ($1 <= 21)}')" 1
expect "encrypted, with a login" "$(jq -c '[.encrypted, .user]' "${letter%.eml}.json")" '[true,"nas"]'
soon grep -q "REPLACE.*$name" hooks || fail "the webhook is told"
code=0
"$scrubjay" check >check.txt || code=$?
expect "check says critical" "$code $(cut -d: -f1 check.txt)" "2 CRITICAL"

echo "# proof"
"$scrubjay" alert test >test.txt || true
expect "the test is accepted by both" "$(grep -c ': accepted in' test.txt)" 2
code_in() { grep -h "alert confirm" "$@" | grep -o 'confirm [0-9]*' | tail -1 | cut -d' ' -f2; }
newest=$(grep -l 'TEST' mails/*.eml | sort -t/ -k2 -n | tail -1)
expect "its code is confirmed" "$("$scrubjay" alert confirm "$(code_in "$newest")")" "email is proven: messages arrive that way"
expect "a code is good once" "$("$scrubjay" alert confirm "$(code_in "$newest")" 2>/dev/null || echo refused)" refused
expect "the proof is shown" "$(of_mail proof | cut -c1-6)" proven
"$scrubjay" alert test >/dev/null
guessed=$(for guess in $(seq 10); do "$scrubjay" alert confirm "wrong$guess" 2>&1 || true; done)
printf "%s\n" "$guessed" | sort | uniq -c | sed "s/^/# /"
expect "ten wrong codes void what was sent, and it is said once" "$(grep -c 'what was sent is void' <<<"$guessed")" 1
newest=$(grep -l 'TEST' mails/*.eml | sort -t/ -k2 -n | tail -1)
expect "also for who has the right one then" "$("$scrubjay" alert confirm "$(code_in "$newest")" 2>/dev/null || echo refused)" refused
soon test -s hooks.beats || fail "the heartbeat comes"

echo "# a server that is down, wrong, or refuses"
unserve
before=$(mails_of TEST)
"$scrubjay" alert test >down.txt || true
expect "a server that is down is named" "$(grep -c 'email: not accepted: localhost.*cannot be reached' down.txt)" 1
sleep $((3 * 86400 / speed)) # three days
serve "$port"
is_delivered() { [ "$(mails_of TEST)" -gt "$before" ]; }
soon is_delivered || fail "what waited is delivered later"
sleep 5
expect "once" "$(($(mails_of TEST) - before))" 1
settings other password
reload
"$scrubjay" alert test >wrong.txt || true
expect "a wrong certificate is named" "$(grep -c 'email: not accepted: .*certificate' wrong.txt)" 1
expect "what was proven of other settings is not proven" "$(of_mail proof)" "never proven"
settings ca wrong-password
reload
"$scrubjay" alert test >auth.txt || true
expect "a refused login is named" "$(grep -c 'email: not accepted: .*AUTH refused' auth.txt)" 1
echo 'every = 7' >>config.toml
reload
expect "a bad file is refused as a whole" "$(grep -c '^the settings stay as they were' watch.log)" 1
settings ca password
reload

echo "# a person"
"$scrubjay" pause 2h >pause.txt
expect "pause" "$(status '.paused_until != null')" true
"$scrubjay" resume >/dev/null
expect "resume" "$(status .paused_until)" null
"$scrubjay" accept "$name" >accept.txt
accepted='[.incidents[] | select(.kind == "health")][0].is_accepted'
passes() { "$scrubjay" history "${third#/dev/}" --limit 100000 --state "$state" --json | jq '[.events[] | select(.kind == "pass-finished")] | length'; }
"$scrubjay" pause 80d >/dev/null
before=$(passes)
expect "scrub-now passes over no pause, and says so" "$("$scrubjay" scrub-now "${third#/dev/}" | grep -c 'is next.*now: paused until')" 1
expect "of what is no disk it says so" "$("$scrubjay" scrub-now email 2>&1 | grep -c 'is a channel')" 1
"$scrubjay" resume >/dev/null
is_read_again() { [ "$(passes)" -gt "$before" ]; }
soon is_read_again || fail "then it is read, though it is not due: $(passes)"
expect "accept" "$(status "$accepted")" true
kinds='[.events[].kind] | (index("pass-finished") != null) and (index("incident-accepted") != null)'
expect "history tells" "$("$scrubjay" history --limit 100000 --state "$state" --json | jq "$kinds")" true
# What is personal here: names, addresses, the folder, the file that the settings name.
code=0
"$scrubjay" report --state "$state" --out report.json --yes 2>report.txt || code=$?
personal=$(grep -ciE "nas1|me@example|${work#/*/}|localhost:|127\.0\.0\.1" report.json || true)
expect "a report has all parts that are not personal" \
  "$personal $(jq -r '[.status.watch.disks[0].health != null, .settings.alert.email.to[0][:8], (.history.events | length > 5), .machine.kernel] | @tsv' report.json)" \
  "0 true	address-	true	$(uname -r)"
expect "it names what is missing, and its exit code says so" "$((code == 3)) $((code == 0))" \
  "$(jq -r '.missing | if length > 0 then "1 0" else "0 1" end' report.json)"
expect "a report is not written over" "$("$scrubjay" report --state "$state" --out report.json --yes 2>&1 | grep -c -- '--force replaces')" 1
expect "nobody says yes, nothing is written" "$("$scrubjay" report --state "$state" --out other.json </dev/null 2>&1 | grep -c 'nobody to ask') $(find . -name 'other.json*' | wc -l)" "1 0"
expect "a second watch is refused" "$("$scrubjay" watch --state "$state" 2>&1 | grep -c 'another watch')" 1

key=$(status "[.disks[] | select(.name == \"${third#/dev/}\")][0].key")
sed -i "s|^never = \\[|&\"$key\", |" config.toml
reload
soon is_status '.disks | length' 2 || fail "a disk that is left alone is not watched: $(status '.disks | length')"
sleep 3
expect "and not missed" "$(status '[.incidents[] | select(.kind == "missing")]')" "[]"
settings ca password
reload
soon is_status '.disks | length' 3 || fail "and watched again: $(status '.disks | length')"

echo "# killed $kills times"
repeated() { grep -ih '^message-id:' mails/*.eml | sort | uniq -d; }
unmarked() { # repeated mails that do not say so
  local id file
  repeated | while read -r id; do
    grep -liF "$id" mails/*.eml | sort -t/ -k2 -n | tail -n +2 | while read -r file; do
      grep -q 'may reach you twice' "$file" || echo "$file"
    done
  done | wc -l
}
for ((kill = 1; kill <= kills; kill++)); do
  "$scrubjay" alert test >/dev/null 2>&1 &
  sleep "$(awk -v seed="$kill" 'BEGIN {srand(seed); print 0.05 + rand() * 2.5}')"
  kill -9 "$daemon"
  wait "$daemon" 2>/dev/null || true
  [ "$(sqlite3 "$state/history.db" 'PRAGMA integrity_check')" = ok ] || fail "the data base after kill $kill"
  watch
done
soon is_status .messages_waiting 0 || fail "all messages are sent in the end: $(status .messages_waiting)"
expect "nothing is sent twice that does not say so" "$(unmarked)" 0
echo "# of $(find mails -name '*.eml' | wc -l) mails $(repeated | wc -l) came more than once, marked"
expect "the bad sectors are not forgotten" "$(of_bad .unreadable)" 8
expect "what is accepted stays so" "$(status "$accepted")" true

echo "# a clock that goes back a day"
unwatch
replaces=$(mails_of REPLACE)
from=$((from + 86400 / (speed - 1) + 1))
watch
soon is_status '.disks | length' 3 || fail "disks are seen"
sleep 5
expect "nothing is told again" "$(($(mails_of REPLACE) - replaces))" 0
expect "nothing is forgotten" "$(of_bad .unreadable)" 8

echo "# a history that is lost while the watch runs, and while it does not"
sqlite3 state/history.db ".backup $work/older.db"
proof=$(of_mail proof)
losses='[.incidents[] | select(.kind == "history")] | length'
lose() { # HOW: told as this, at once; what is known of the disks, of people and of channels stays, as it is in memory
  local told
  told=$(mails_of "history: its file was $2")
  eval "$3"
  soon is_status "$losses" 1 || fail "$1: it is noticed: $(status .incidents)"
  is_told() { [ "$(mails_of "history: its file was $2")" -gt "$1" ]; }
  soon is_told "$told" "$2" || fail "$1: it is told by mail"
  expect "$1: the bad sectors stay known, what is accepted stays so, and what is proven" \
    "$(of_bad .unreadable) $(status "$accepted") $(of_mail proof)" "8 true $proof"
  expect "$1: the file is whole" "$(sqlite3 state/history.db 'PRAGMA integrity_check')" ok
  "$scrubjay" accept history >/dev/null
  expect "$1: taken note of, it is over" "$(status "$losses")" 0
}
lose deleted deleted 'rm -f state/history.db state/history.db-wal state/history.db-shm'
lose damaged damaged 'sqlite3 state/history.db "PRAGMA wal_checkpoint(TRUNCATE)" >/dev/null; dd if=/dev/urandom of=state/history.db bs=4096 seek=2 count=16 conv=notrunc status=none'
lose "an older one in its place" exchanged 'mv older.db state/history.db'
expect "what was found is set aside" "$(find state -name 'history.db.aside-[0-9]' | wc -l)" 2
sqlite3 state/history.db ".backup $work/older.db"
"$scrubjay" pause 2h >/dev/null
"$scrubjay" resume >/dev/null
sleep 1
unwatch
rm -f state/history.db-wal state/history.db-shm
mv older.db state/history.db
watch
soon is_status "$losses" 1 || fail "rolled back while it did not run: it is told: $(status .incidents)"
expect "what it has is used" "$(of_bad .unreadable)" 8
"$scrubjay" accept history >/dev/null
cp -a state kept
unwatch
rm -f state/history.db*
watch
soon is_status "$losses" 1 || fail "deleted while it did not run: it is told: $(status .incidents)"
unwatch
rm -rf state
mv kept state

echo "# a full disk"
mkdir full
mount -t tmpfs -o size=8M tmpfs full
cp -a state/. full/
state=$work/full
watch
soon is_status '.disks | length' 3 || fail "disks are seen"
head -c 8M /dev/zero >full/filler 2>/dev/null || true
"$scrubjay" pause 1h >/dev/null 2>&1 || true # something that is to be kept
troubled='.troubles | map(select(startswith("history"))) | length > 0'
soon is_status "$troubled" true || fail "a full disk is spoken of: $(status .troubles)"
tests=$(mails_of TEST)
timeout 10 "$scrubjay" alert test >/dev/null 2>&1 || true
sleep 2
expect "nothing is sent that would be forgotten" "$(($(mails_of TEST) - tests))" 0
rm full/filler
is_over() { is_status "$troubled" false && [ "$(mails_of TEST)" -gt "$tests" ]; }
soon is_over || fail "it goes on when there is room: $(status .troubles)"
expect "the data base is whole" "$(sqlite3 full/history.db 'PRAGMA integrity_check')" ok
unwatch
expect "it ended in order" "$(tail -1 watch.log)" ended

echo "# three questions: from nothing to alerts that are proven"
state=$work/anew
printf 'host = "nas2"\nalso = ["%s"]\nnever = [%s]\n' "$third" "$others" >config.toml
SSL_CERT_FILE=$work/ca.pem watch
soon is_status '.disks | length' 1 || fail "its disk is seen"
expect "there is no way yet" "$(status '.channels | length')" 0
tests=$(mails_of TEST)
is_tested() { [ "$(mails_of TEST)" -gt "$tests" ]; }
answers() { # to setup's questions, the code as soon as it has come
  printf 'me@example.org\nlocalhost:%s\nnas\nsecret\n' "$port"
  soon is_tested
  code_in "$(grep -l 'nas2.*TEST' mails/*.eml | sort -t/ -k2 -n | tail -1)"
}
answers | "$scrubjay" setup >setup.txt 2>&1 || fail "setup: $(cat setup.txt)"
expect "setup ends with a proof" "$(tail -2 setup.txt | head -1 | grep -c 'email is proven')$(of_mail proof | cut -c1-6)" 1proven
expect "its password is for its owner alone" "$(stat -c %a smtp.password)" 600
expect "what was in the settings is there" "$(head -1 config.toml)" 'host = "nas2"'
expect "once is enough" "$("$scrubjay" setup </dev/null 2>&1 | grep -c '^All is set up')" 1
unwatch
[ "$failed" = 0 ] || tail -40 watch.log | sed 's/^/# /'
done_checking
