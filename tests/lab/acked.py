#!/usr/bin/python3
"""A client of a network block device that remembers what was acknowledged, for a server that is killed.

  acked.py write  URI LOG SEED   writes at random, 16 requests at a time, until the server is gone
  acked.py verify URI LOG        reads it all: each block holds its last acknowledged write, or one that came after

A block of 4 KiB holds its own number and the number of its write, 256 times over.
"""
import json
import random
import struct
import sys

import nbd

BLOCK = 4096
AT_ONCE = 16


def content(block, number):
    return struct.pack("<QQ", block, number) * (BLOCK // 16)


def write(uri, log, seed):
    device = nbd.NBD()
    device.connect_uri(uri)
    blocks = device.get_size() // BLOCK
    chance = random.Random(seed)
    try:
        with open(log) as old:
            acked, number = (lambda state: ({int(k): v for k, v in state["acked"].items()}, state["number"]))(json.load(old))
    except FileNotFoundError:
        acked, number = {}, 0
    under_way, open_writes = {}, {}
    try:
        while True:
            while len(under_way) < AT_ONCE:
                first, count = chance.randrange(blocks), 1 + chance.randrange(8) ** 2 // 4
                run = range(first, min(first + count, blocks))
                if any(block in open_writes for block in run):
                    continue  # of two writes of one block at a time nobody could say which came last
                number += 1
                data = b"".join(content(block, number) for block in run)
                for block in run:
                    open_writes[block] = number
                flags = nbd.CMD_FLAG_FUA if chance.randrange(50) == 0 else 0
                under_way[device.aio_pwrite(nbd.Buffer.from_bytearray(bytearray(data)), first * BLOCK, flags=flags)] = (run, number)
            device.poll(-1)
            for cookie in list(under_way):
                if device.aio_command_completed(cookie):
                    run, done = under_way.pop(cookie)
                    for block in run:
                        acked[block] = done
                        del open_writes[block]
    except nbd.Error:
        pass
    state = {"acked": acked, "open": open_writes, "number": number}
    with open(log, "w") as new:
        json.dump(state, new)
    print(f"{number} writes, {len(open_writes)} blocks under way at the end")


def verify(uri, log):
    device = nbd.NBD()
    device.connect_uri(uri)
    with open(log) as file:
        state = json.load(file)
    acked = {int(block): number for block, number in state["acked"].items()}
    maybe = {int(block): number for block, number in state["open"].items()}
    wrong = 0
    step = 256
    for first in range(0, device.get_size() // BLOCK, step):
        data = device.pread(step * BLOCK, first * BLOCK)
        for index in range(step):
            block, found = first + index, data[index * BLOCK:(index + 1) * BLOCK]
            legal = [content(block, acked[block])] if block in acked else [bytes(BLOCK)]
            if block in maybe:
                legal.append(content(block, maybe[block]))
            if bytes(found) not in legal:
                wrong += 1
                if wrong <= 5:
                    print(f"block {block}: {bytes(found[:16]).hex()}, acknowledged {acked.get(block)}, under way {maybe.get(block)}")
            elif block in maybe and bytes(found) == legal[-1]:
                acked[block] = maybe[block]
    with open(log, "w") as file:
        json.dump({"acked": acked, "open": {}, "number": state["number"]}, file)
    print(f"{len(acked)} blocks, {wrong} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    {"write": write, "verify": verify}[sys.argv[1]](*sys.argv[2:])
