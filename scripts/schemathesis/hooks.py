"""Describes to schemathesis what JSON Schema cannot express about an order, and signs deliveries (Standard Webhooks)."""

import base64
import hashlib
import hmac
import os
import time
import unicodedata

import requests
import schemathesis

MAX_SAFE_INTEGER = 2**53 - 1
MAX_BYTES = 255


def counted_texts(body):
    """The texts of an order or an event whose length is counted in bytes."""
    yield body.get("customerId", "")
    yield from (item["sku"] for item in body.get("items", []))
    if isinstance(body.get("data"), dict):
        yield from map(str, (body["id"], body["type"], body["data"]["object"]["id"]))


def is_line_text(char):
    """Whether a character begins a line, or controls what shows it."""
    return unicodedata.category(char) in ("Cc", "Zl", "Zp")


@schemathesis.hook
def filter_case(context, case):
    """Skips orders that only look valid: their total exceeds 2^53 - 1, a text has too many bytes, or the customer has two lines."""
    if case.meta is None or not case.meta.generation.mode.is_positive or not isinstance(case.body, dict):
        return True
    total = sum(item["quantity"] * item["unitAmount"] for item in case.body.get("items", []))
    if any(is_line_text(char) for char in case.body.get("customerId", "")):
        return False
    return total <= MAX_SAFE_INTEGER and all(len(text.encode()) <= MAX_BYTES for text in counted_texts(case.body))


class SignedDelivery(requests.auth.AuthBase):
    """Signs the bytes that are sent."""

    def __call__(self, request):
        body = request.body or b""
        body = body.encode() if isinstance(body, str) else body
        key = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))
        head = ["schemathesis", str(int(time.time()))]
        mac = hmac.new(key, ".".join(head).encode() + b"." + body, hashlib.sha256).digest()
        request.headers["webhook-id"], request.headers["webhook-timestamp"] = head
        request.headers["webhook-signature"] = "v1," + base64.b64encode(mac).decode()
        return request


schemathesis.auth.set_from_requests(SignedDelivery()).apply_to(method="POST", path="/api/webhooks/{provider}")
