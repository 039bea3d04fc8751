"""The kills, and the calm after them."""
import json
import os
import sqlite3
import time
from collections import Counter

from kill_loop.world import Failure

def describe(world, role):
    """What dies: which part it plays just now."""
    if "-view" in role.name:
        return "viewer"
    age = time.monotonic() - role.began
    if age < 0.3:
        return "device, while it starts"
    state = role.state
    if state == "elsewhere":
        return "second process of a file"
    waits = waiting(role, world)
    return "device that has the session, %s, %s" % (
        "live" if state == "live" else "not live", "acts waiting" if waits else "nothing waiting")


def waiting(role, world):
    """Whether acts of the role's file are on their way."""
    replica = next(each for each in world.replicas if role in each.roles)
    if not os.path.exists(replica.path):
        return False
    connection = replica.open()
    try:
        return connection.execute("SELECT count(*) FROM outbox WHERE state < 3").fetchone()[0] > 0
    except sqlite3.OperationalError:
        return False
    finally:
        connection.close()


def torment(world, kills, gap):
    """Kills and restarts, at moments of the seed; what died, counted."""
    deaths, chance = Counter(), world.chance
    while sum(deaths.values()) < kills:
        time.sleep(chance.random() * gap)
        if chance.randrange(100) < world.hub.share:
            deaths.update(world.hub.strike(chance, kills - sum(deaths.values())))
            continue
        role = chance.choice([role for role in world.roles for _ in range(1 if "-view" in role.name else 3)])
        deaths[describe(world, role)] += 1
        role.kill()
        role.start()
        if sum(deaths.values()) < kills and chance.random() < 0.1:
            time.sleep(chance.random() * 0.1)
            deaths["viewer" if "-view" in role.name else "device, while it starts"] += 1
            role.kill()
            role.start()
    return deaths


def quiesce(world, seconds, restarts):
    """Faults off, publishers and acts off; then every file is to reach the hub's head with an empty outbox."""
    begin = time.monotonic()
    world.end_publishers()
    world.tell_proxy("off")
    if restarts:
        # Processes that have just begun have no back-off behind them, and nobody is left to a half-open connection.
        world.tell_proxy("cut")
        for replica in world.replicas:
            for role in replica.actors:
                role.kill()
                role.start()
    for role in world.roles:
        role.say("quiet")
    while True:
        late = unsettled(world)
        if not late:
            break
        if time.monotonic() - begin > seconds:
            raise Failure("%d s after the last fault: %s" % (seconds, "; ".join(late)))
        time.sleep(0.1)
    print("calm %.1f s after the last fault" % (time.monotonic() - begin), flush=True)


def unsettled(world):
    """What is not as it shall be in the end, a sentence each."""
    loud = [role.name for replica in world.replicas for role in replica.actors if role.last("quiet") is None]
    if loud:
        return ["not silent yet: %s" % ", ".join(loud)]
    heads, late = world.hub.heads(), []
    for replica in world.replicas:
        connection = replica.open()
        try:
            inbox, position = connection.execute("SELECT inbox, position FROM replica").fetchone() or (None, 0)
            waits = connection.execute("SELECT count(*) FROM outbox WHERE state < 3").fetchone()[0]
        finally:
            connection.close()
        if inbox is None or heads.get(inbox) != position or waits:
            late.append("%s is at %d of %s with %d acts waiting, %s" % (
                replica.name, position, heads.get(inbox), waits,
                json.dumps({role.name: role.last("status") for role in replica.actors})))
    return late
