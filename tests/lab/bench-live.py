#!/usr/bin/env python3
"""Runs a command on a terminal of its own, keeps what it shows there, and says when the first figures appeared and when it ended:
`{"first": 0.3, "all": 37.9, "code": 0}`, in seconds.

    bench-live.py SHOWN COMMAND [ARGUMENT...]
"""
import json
import os
import pty
import sys
import time

FIGURES = b" IOPS at "


def main():
    shown, command = sys.argv[1], sys.argv[2:]
    begun = time.monotonic()
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"  # whatever this machine's own terminal is: one that is not moves no cursor
        os.execvp(command[0], command)
    first, seen = None, b""
    while True:
        try:
            data = os.read(terminal, 65536)
        except OSError:  # what a terminal says once nobody has it open
            break
        if not data:
            break
        seen += data
        if first is None and FIGURES in seen:
            first = time.monotonic() - begun
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    whole = time.monotonic() - begun
    with open(shown, "wb") as file:
        file.write(seen)
    print(json.dumps({"first": first and round(first, 2), "all": round(whole, 2), "code": code}))


main()
