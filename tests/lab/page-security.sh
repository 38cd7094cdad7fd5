#!/bin/bash
# Attacks on the page: without the key, by another name, from another page, with paths that leave its root, with endless headers, and
# with hundreds of slow connections; a disk whose model is a script. Also what its process can open as another user.
# Usage: page-security.sh. Exit: 0 all checks hold, 1 one does not, 77 cannot be run here. Needs root, curl, python3, openssl, setpriv.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"
needs root curl python3 openssl setpriv jq
begin
chmod 755 "$work"
export SCRUBJAY_RUN=$work/run

"$scrubjay" simulate watch --disks 8 --days 120 --seed 3 --page plain.json >/dev/null
evil='<script>alert(1)</script>\u001b[31m\u0007\u202e\"'
jq --arg evil "$(printf '"%s"' "$evil" | jq -r .)" \
  '.status.disks[0].model = $evil | .status.disks[0].serial = $evil | .status.sentence = $evil' plain.json >evil.json
serve() { # NAME ARGUMENTS...
  local name=$1
  shift
  "$scrubjay" web --key "$work/key" "$@" 2>"$name.log" &
  server=$!
  soon grep -qs 'the page is at' "$name.log"
  url=$(grep -o 'https\?://[^;]*' "$name.log")
}
serve page --listen 127.0.0.1:0 --recorded evil.json
port=${url##*:}
code() { curl -s -o body -w '%{http_code}' --max-time 20 "$@"; }

echo "# who may what"
expect "who looks is let in" "$(code "$url/")" 200
for path in pause resume accept scrub-now test confirm; do
  expect "nobody acts without the key: $path" "$(code -d 'seconds=60&subject=sda&code=004711' "$url/do/$path")" 403
done
expect "a made-up session is none" "$(code -b 'scrubjay=99999999999.00' -d form=00 "$url/do/resume")" 403
link=$("$scrubjay" web --print-link --key "$work/key" --listen "127.0.0.1:$port" | head -1)
expect "who only looks at the link does not use it up" "$(code -I "$link")" 405
curl -s -c jar -o /dev/null "$link"
expect "it is good once" "$(code "$link")" 403
expect "the link gives a cookie that no script and no other page gets" "$(grep -c '^#HttpOnly_127.0.0.1' jar)" 1
mark=$(curl -s -b jar "$url/" | grep -o 'name="form" value="[0-9a-f]*"' | head -1 | grep -o '[0-9a-f]\{64\}')
cookie=$(awk '/scrubjay/ {print $6 "=" $7}' jar)
expect "with both it is done, or refused by what is asked" "$(code -b "$cookie" -d "form=$mark" "$url/do/resume")" 303
expect "not with another page's form" "$(code -b "$cookie" -d "form=00" "$url/do/resume")" 403
expect "not from another page" "$(code -b "$cookie" -H 'Origin: http://evil.example' -d "form=$mark" "$url/do/resume")" 403
expect "nor from a frame without a name" "$(code -b "$cookie" -H 'Origin: null' -d "form=$mark" "$url/do/resume")" 403
guesses=$(for n in $(seq 40); do code "$url/login?until=9999999999&once=$n&mark=$(printf '%064d' "$n")"; echo; done | sort | uniq -c | tr -s ' ' | tr '\n' ',')
expect "who guesses links has to wait" "$(grep -c ' 429' <<<"$guesses")" 1
expect "and the owner beside has not" "$(code -b "$cookie" -d "form=$mark" "$url/do/resume")" 303
expect "nor who has a link that is good" \
  "$(code "$("$scrubjay" web --print-link --key "$work/key" --listen "127.0.0.1:$port" | head -1)")" 303
expect "another name is not ours (DNS rebinding)" "$(code -H 'Host: evil.example' "$url/")" 421
expect "nothing is said of it either" "$(grep -c ZL body || true)" 0
expect "the key is its owner's alone" "$(stat -c %a key)" 600
head=$(curl -s -D - -o /dev/null "$url/")
for field in "default-src 'none'" "frame-ancestors 'none'" nosniff no-referrer; do
  expect "the head says: $field" "$(grep -c -- "$field" <<<"$head")" 1
done
expect "no inline script or style is let in" "$(grep -c unsafe <<<"$head" || true)" 0

echo "# what is no request"
for path in /../../etc/passwd /d/../../../etc/passwd /%2e%2e/%2e%2e/etc/passwd /file/../key //etc/passwd; do
  expect "nothing climbs: $path" "$(code --path-as-is "$url$path")" 404
done
cat >raw.py <<'PYTHON'
import socket, sys, time
port, what = int(sys.argv[1]), sys.argv[2]
def first_line(bytes_):
    with socket.create_connection(("127.0.0.1", port), timeout=20) as s:
        try:
            s.sendall(bytes_)
        except OSError:
            pass
        try:
            return s.recv(200).split(b"\r\n")[0].decode() or "closed"
        except OSError as error:
            return "closed"
if what == "head":
    print(first_line(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * (1 << 20) + b"\r\n\r\n"))
elif what == "two":
    print(first_line(b"POST /do/resume HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"))
elif what == "body":
    print(first_line(b"POST /do/resume HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 99999999\r\n\r\n"))
elif what == "slow":
    held = []
    for _ in range(500):
        s = socket.create_connection(("127.0.0.1", port), timeout=20)
        s.sendall(b"GET / HTTP/1.1\r\nHost: local")
        held.append(s)
    began = time.time()
    answer = first_line(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    took = time.time() - began
    count = [int(line.split()[1]) for line in open(f"/proc/{sys.argv[3]}/status") if line.startswith("Threads")][0]
    print(answer, "in time" if took < 10 else f"after {took} s", "few threads" if count <= 165 else f"{count} threads")
    time.sleep(8)
    gone = 0
    for s in held:
        s.settimeout(2)
        try:
            gone += s.recv(500)[:12] in (b"", b"HTTP/1.1 408")
        except OSError:
            gone += 1
    print(gone, "of 500 hung up on")
PYTHON
expect "a head of 1 MiB is refused" "$(python3 raw.py "$port" head)" "HTTP/1.1 431 Request Header Fields Too Large"
expect "what could be two requests is none" "$(python3 raw.py "$port" two)" "HTTP/1.1 400 Bad Request"
expect "a form of 100 MB is refused" "$(python3 raw.py "$port" body)" "HTTP/1.1 413 Content Too Large"
expect "500 slow clients keep nobody out" "$(python3 raw.py "$port" slow "$server" | tr '\n' ' ')" \
  "HTTP/1.1 200 OK in time few threads 500 of 500 hung up on "
flood=$(for _ in $(seq 300); do echo "url = $url/healthz"; done | curl -s -o /dev/null -w '%{http_code}\n' -K - | sort | uniq -c | tr -s ' ' | tr '\n' ',')
echo "# 300 requests at once: $flood"
expect "who asks too often waits" "$(grep -c ' 429' <<<"$flood")" 1
expect "and the owner does not, whoever else asks from there" "$(code -b "$cookie" "$url/")" 200
sleep 6

echo "# what a disk calls itself"
for path in "/" "/d/$(jq -r '.status.disks[0].key' evil.json)" /api/v1/summary /metrics; do
  curl -s "$url$path" >shown
  expect "nothing in $path is a script, and nothing commands a terminal" \
    "$(grep -c '<script>alert' shown || true) $(grep -c "$(printf '\033\\|\007\\|\342\200\256')" shown || true)" "$([ "$path" = /metrics ] && echo "$(grep -c "<script>" shown) 0" || echo "0 0")"
done
# (The metrics are plain text, and nobody may take them for anything else: nosniff.)
expect "JSON is JSON" "$(curl -s "$url/api/v1/summary" | jq -r .schema)" 1

echo "# beyond this machine"
expect "not without TLS" "$("$scrubjay" web --listen 0.0.0.0:0 --key "$work/key" --recorded evil.json >/dev/null 2>&1 || echo $?)" 2
expect "not if that is said once" "$("$scrubjay" web --listen 0.0.0.0:0 --without-tls --key "$work/key" --recorded evil.json >/dev/null 2>&1 || echo $?)" 2
openssl req -x509 -newkey rsa:2048 -nodes -keyout tls.key -out tls.pem -days 2 -subj /CN=localhost \
  -addext subjectAltName=DNS:localhost,IP:127.0.0.1 2>/dev/null
serve tls --listen 127.0.0.1:0 --tls-cert tls.pem --tls-key tls.key --recorded evil.json
expect "with TLS it is read" "$(code --cacert tls.pem "https://localhost:${url##*:}/")" 200
expect "and by nobody who speaks none" "$(code "http://localhost:${url##*:}/" || true)" 000

echo "# its process"
mkdir -p state && chmod 700 state && echo secret >state/history.db
truncate -s 1M disk.img
# As its unit runs it: a user of its own, no capability. (The unit's own sandbox needs systemd: `cargo xtask deb --test` has it.)
alone() { setpriv --reuid 54321 --regid 54321 --clear-groups --bounding-set -all --no-new-privs "$@"; }
expect "as that user no disk is opened" "$(alone cat /dev/vda /dev/sda /dev/loop0 2>/dev/null | head -c 1 | wc -c)" 0
expect "nor the state" "$(alone cat "$work/state/history.db" 2>/dev/null | wc -c)" 0
install -d -o 54321 -m 700 own
cp evil.json own.json && chmod 644 own.json
(exec setpriv --reuid 54321 --regid 54321 --clear-groups --bounding-set -all --no-new-privs "$scrubjay" web --listen 127.0.0.1:0 --key "$work/own/key" --recorded own.json 2>alone.log) &
soon grep -qs 'the page is at' alone.log
url=$(grep -o 'http://[^;]*' alone.log)
expect "and the page is there" "$(code "$url/")" 200
pid=$(pgrep -u 54321 -f "own/key" | head -1)
expect "it holds nothing open that is a device or the state" \
  "$(find "/proc/$pid/fd" -lname '/dev/[!np]*' -o -lname '*history.db*' | wc -l)" 0
expect "and has no capability" "$(awk '/^Cap(Eff|Prm|Bnd)/ {print $2}' "/proc/$pid/status" | sort -u)" 0000000000000000
done_checking
