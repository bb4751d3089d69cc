"""Adds each paid invoice to the credit of its customer, exactly once. README.md says how to run it."""

import json
import logging
import os
import re
import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

DATABASE = os.environ["DATABASE"]
# During a change of the secret, both are here, with a space between them.
VERIFIERS = [Webhook(secret) for secret in os.environ["WEBHOOK_SECRET"].split()]
# The gateway accepts bodies of 1 MiB by default. It sends those that are not JSON as base64, which is a third longer.
MAX_BYTES = 1_572_864
BUSY_SECONDS = 5

app = FastAPI(openapi_url=None)


class Refused(Exception):
    """The event can never have its effect: the gateway keeps it as dead."""


def connect() -> sqlite3.Connection:
    # Without an isolation level, Python begins no transaction: we do.
    connection = sqlite3.connect(DATABASE, timeout=BUSY_SECONDS, isolation_level=None)
    connection.execute("pragma synchronous = full")
    return connection


with closing(connect()) as database:
    database.execute("pragma journal_mode = wal")
    database.executescript(Path(__file__).with_name("schema.sql").read_text())


@app.post("/webhooks")
async def receive(request: Request) -> Response:
    body = await read_body(request)
    if body is None:
        return refuse(413, "too_large")
    if not is_authentic(body, dict(request.headers)):
        return refuse(401, "not_authentic")
    events = events_of(body)
    if events is not None:
        return JSONResponse({"results": await run_in_threadpool(act_on_each, events)})
    try:
        repeated = await run_in_threadpool(act_once, request.headers["webhook-id"], body)
    except Refused as reason:
        return JSONResponse({"error": "refused", "message": str(reason)}, status_code=422)
    # The outcome of every other exception is 500: the gateway delivers the event again.
    return JSONResponse({"repeated": repeated})


@app.get("/livez")
async def is_alive() -> Response:
    return Response()


@app.get("/readyz")
def is_ready() -> Response:
    with closing(connect()) as database:
        database.execute("select 1 from keys limit 1")
    return Response()


async def read_body(request: Request) -> bytes | None:
    """Reads the body. Returns None as soon as it is too large."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BYTES:
            return None
    return bytes(body)


def is_authentic(body: bytes, headers: dict[str, str]) -> bool:
    """Whether one of the secrets signed the body, the id and the time, and the time is not too long ago."""
    for verifier in VERIFIERS:
        try:
            verifier.verify(body, headers, json_parse=False)
            return True
        except (WebhookVerificationError, ValueError):
            continue  # the library has a ValueError for a signature that is not base64
    return False


def events_of(body: bytes) -> list[bytes] | None:
    """The events of a batch, byte for byte. None if the body is one event."""
    begin = re.match(rb'\{"handler":"[^"]*","events":\[', body)
    if begin is None:
        return None
    text, at, events = body.decode(), len(begin[0].decode()), []
    while text[at] != "]":
        _, end = json.JSONDecoder().raw_decode(text, at)
        events.append(text[at:end].encode())
        at = end + (text[end] == ",")
    return events


def act_on_each(events: list[bytes]) -> list[dict[str, Any]]:
    """Acts on each event in its own transaction: one that fails does not concern the others."""
    results: list[dict[str, Any]] = []
    for event in events:
        try:
            act_once(json.loads(event)["key"], event)
            results.append({"done": True})
        except Refused as reason:
            results.append({"refused": "refused", "retry": "never", "message": str(reason)})
        except Exception:
            logging.exception("An event failed")
            results.append({"refused": "failed", "retry": "later"})
    return results


def act_once(key: str, body: bytes) -> bool:
    """Writes the key and the effect of an event in one transaction. Returns whether the event had its effect before."""
    with closing(connect()) as database:
        # Takes the lock at once, so that two deliveries of one event wait for each other.
        database.execute("begin immediate")
        try:
            known = database.execute("select body_hash from keys where key = ?", [key]).fetchone()
            body_hash = sha256(content_of(body)).hexdigest()
            if known is None:
                database.execute("insert into keys (key, body_hash) values (?, ?)", [key, body_hash])
                apply_event(json.loads(body), database)
            elif known[0] != body_hash:
                raise Refused("The key came before with another body")
            database.execute("commit")
        except BaseException:
            if database.in_transaction:
                database.execute("rollback")
            raise
    return known is not None


def content_of(body: bytes) -> bytes:
    """What is the same whenever an event comes again: what the provider sent, which the gateway writes last."""
    # What it writes before may change, and has these characters nowhere: JSON escapes the quotation marks within a text.
    found = re.search(rb',"(?:body|raw)":', body)
    return body[found.start() + 1 :] if found else body


def apply_event(event: dict[str, Any], database: sqlite3.Connection) -> None:
    """The effect: what you change. Everything in it happens in the transaction of the key."""
    if event.get("type") != "invoice.paid":
        return
    try:
        invoice = event["body"]["data"]["object"]
        values = [invoice["customer"], invoice["currency"], int(invoice["amount_paid"])]
    except (KeyError, TypeError, ValueError) as error:
        raise Refused("The event has no invoice with a customer, a currency and an amount") from error
    database.execute(
        """
        insert into credits (customer, currency, amount) values (?, ?, ?)
        on conflict (customer, currency) do update set amount = amount + excluded.amount
        """,
        values,
    )


def refuse(status: int, error: str) -> Response:
    return JSONResponse({"error": error}, status_code=status)
