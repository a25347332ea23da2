"""Bots that hang, exit, crash, print, close and answer nonsense, at a question drawn at random, in every use of a bot.

However a bot ends, the command ends with a result or with one line that names it; standard output holds one JSON object
or nothing; and no process is left behind.
"""

from __future__ import annotations

import gc
import json
import os
from pathlib import Path
from random import Random

from attempts import DONE, REFUSED, isolated
from commands import run
from dose import Tally
from equipoise.measure import lbr
from equipoise.play import match
from waiting import GUARD

SECONDS = 0.3  # after the time of a match, in which a bot may finish its hand
HANDS = 40
ENDED = "ended"

BOT = """
import ctypes, os, signal, subprocess, sys, threading, time
from equipoise import CALL
{before}
class Own(BaseException): pass
asked = 0
def agent(view):
    global asked
    asked += 1
    if asked == {question}:
        {what}
    return CALL
"""
HARMS = {  # what a bot does, and whether it can go on
    "sys.exit": ("sys.exit({number})", False),
    "os._exit": ("os._exit({number})", False),
    "own exception": ("raise Own('mine\\n\\x1b[31m')", False),
    "KeyboardInterrupt": ("raise KeyboardInterrupt", False),
    "GeneratorExit": ("raise GeneratorExit", False),
    "signal": ("os.kill(os.getpid(), {signal})", False),
    "segmentation fault": ("ctypes.string_at(0)", False),
    "abort": ("os.abort()", False),
    "recursion": ("(lambda f: f(f))(lambda f: f(f))", False),
    "memory": ("bytearray(1 << 62)", False),
    "reads": ("input()", False),
    "nonsense": ("return {nonsense}", False),
    "closes all": ("os.closerange(3, 500)", False),
    "closes output": ("sys.stdout.close(); os.close(1); os.close(2)", True),
    "prints": ("print({text})", True),
    "prints bytes": ("os.write(1, {text!r}.encode('utf-8', 'surrogatepass') + bytes(range(256)))", True),
    "prints much": ("print('x' * 300_000, file=sys.stderr)", True),
    "a child that prints": ("subprocess.run(['echo', 'child'])", True),
    "a child that stays": ("subprocess.Popen(['sleep', '1000'])", True),
    "a thread that stays": ("threading.Thread(target=time.sleep, args=(1000,)).start()", True),
    "a forked copy": ("os.fork() or os._exit(0)", True),
    "sleeps": ("time.sleep(1000)", None),
    "spins": ("exec('while True: pass')", None),
    "prints for ever": ("exec('while True: print(1)')", None),
    "stops itself": ("os.kill(os.getpid(), signal.SIGSTOP)", None),
    "ignores SIGTERM": ("signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(1000)", None),
}  # fmt: skip
NONSENSE = ("None", "'call'", "{0: 2.0}", "{0: float('nan')}", "[1]", "10 ** 400", "{'a': 1}", "object()", "view", "-7")
TEXTS = ("'{\"hands\": 7}'", "'\\x1b[2J\\x07'", "'\\ud800'", "'\\u202e'", "'a' * 1000", "''")
LEDUC, KUHN = ["--game", "leduc"], ["--game", "kuhn"]
LBR = ["measure", "bot.py:agent", *LEDUC, "--method", "lbr", "--hands", "40", "--threads"]
USES = {
    "match": ["match", "bot.py:agent", "always-call", *LEDUC, "--hands", f"{HANDS}"],
    "second seat": ["match", "always-raise", "bot.py:agent", *KUHN, "--hands", f"{HANDS}"],
    "both seats": ["match", "bot.py:agent", "bot.py:agent", *LEDUC, "--hands", f"{HANDS}"],
    "AIVAT": ["match", "bot.py:agent", "uniform", *LEDUC, "--hands", f"{HANDS}", "--aivat"],
    "log": ["match", "bot.py:agent", "always-call", *LEDUC, "--hands", f"{HANDS}", "--log", "x.log", "--force"],
    "lbr": [*LBR, "1"],
    "lbr in workers": [*LBR, "2"],
    "exact": ["measure", "bot.py:agent", *KUHN, "--threads", "1"],
    "cup": ["match", "bot.py:agent", "uniform", "always-call", *KUHN, "--hands", "8"],
}
WITHOUT_LIMIT = ("exact", "cup")  # nothing ends a bot that hangs there but Ctrl-C


def harm_many(folder: Path, tries: int, random: Random, tally: Tally) -> None:
    """Some bots, each in one use."""
    drawn = [(random.choice(sorted(HARMS)), random.choice(sorted(USES)), random.getrandbits(32)) for _ in range(tries)]
    home = Path.cwd()
    os.chdir(folder)
    try:
        for (harm, use, _), outcome, fault in isolated(drawn, _attempt, guard=GUARD):
            tally.add(outcome, fault=f"{harm}, {use}: {fault}" if fault else "")
    finally:
        os.chdir(home)


def _attempt(drawn: tuple[str, str, int]) -> tuple[str, str]:
    """In a forked child: run a command with a bot, and judge how it ended."""
    harm, use, seed = drawn
    random = Random(seed)
    what, goes_on = HARMS[harm]
    if goes_on is None and use in WITHOUT_LIMIT:
        use = "match"
    while_imported = goes_on is False and harm not in ("nonsense", "recursion") and random.random() < 0.15
    filled = what.format(
        number=random.choice((0, 1, 2, 255)), signal=random.choice((9, 15, 6, 10, 14, 11, 31)),
        nonsense=random.choice(NONSENSE), text=random.choice(TEXTS),
    )  # fmt: skip
    question = 0 if while_imported else random.choice((1, 1, 2, 5, 9))
    before = f"class Own(BaseException): pass\n{filled}\n" if while_imported else ""
    Path("bot.py").write_text(BOT.format(before=before, question=question, what=filled))
    match.LEAST_GRACE = lbr.LEAST_GRACE = SECONDS
    limit = ["--minutes", "0.002"] if goes_on is None else []
    done = run(*USES[use], *limit, "--json", "--seed", "1") if use != "exact" else run(*USES[use], "--json")
    gc.collect()
    fault = ""
    lines = [line for line in done.stderr.splitlines() if line.startswith("equipoise: ")]
    if left := _children():
        fault = f"left processes {left}"
    elif "Traceback (most recent call last)" in done.stderr or "\x1b" in done.stderr:
        fault = f"standard error has {done.stderr[-200:]!r}"
    elif done.returncode == 0:
        if not isinstance(json.loads(done.stdout), dict) or lines:
            fault = f"printed {done.stdout[:200]!r} and {lines}"
    elif done.returncode != 2 or done.stdout or len(lines) != 1 or "bot.py" not in lines[0]:
        fault = f"ended with {done.returncode}, {done.stdout[:100]!r}, {done.stderr[-300:]!r}"
    elif goes_on and harm != "closes output":
        fault = f"refused: {lines}"
    if done.returncode == 0 and not fault and json.loads(done.stdout).get("ended"):
        return ENDED, fault
    return (DONE if done.returncode == 0 else REFUSED), fault


def _children() -> list[str]:
    """Processes that this one has started and not fetched."""
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
