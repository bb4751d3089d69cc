"""A sender of webhooks in Python. Its tests write its contract with the gateway into the folder of the first argument."""

import base64
import hashlib
import hmac
import json
import sys
import time
import urllib.error
import urllib.request

from pact import Pact, match

CONSUMER = "python-shop"
KEY = b"the key of a sender that signs.."


def deliver(url, event):
    """Posts an event, signed as Standard Webhooks, and returns the status of the answer."""
    body = json.dumps(event).encode()
    at = str(int(time.time()))
    signed = b".".join([event["id"].encode(), at.encode(), body])
    signature = base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest()).decode()
    headers = {
        "content-type": "application/json",
        "webhook-id": event["id"],
        "webhook-timestamp": at,
        "webhook-signature": f"v1,{signature}",
    }
    request = urllib.request.Request(f"{url}/api/webhooks/{CONSUMER}", body, headers)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status
    except urllib.error.HTTPError as refused:
        return refused.code


def event_of(event_id):
    return {"id": event_id, "type": "stock.counted", "data": {"object": {"id": f"count_of_{event_id}"}}}


EXCHANGES = [
    ("delivers an event", "the event is not known", True, event_of("py_new"), 200),
    ("delivers an event again", "the event was delivered before", True, event_of("py_again"), 200),
    ("delivers an event with another secret", "the sender has another secret", False, event_of("py_forged"), 401),
]


def main(folder):
    for does, state, has_parameters, event, status in EXCHANGES:
        pact = Pact(CONSUMER, "gateway").with_specification("V4")
        parameters = {"eventId": event["id"], "type": event["type"]} if has_parameters else {}
        exchange = pact.upon_receiving(does).given(state, parameters) if parameters else pact.upon_receiving(does).given(state)
        exchange.with_request("POST", f"/api/webhooks/{CONSUMER}")
        exchange.with_header("webhook-id", event["id"])
        exchange.with_header("webhook-timestamp", match.regex("1764151200", regex=r"^\d{10}$"))
        exchange.with_header("webhook-signature", match.regex(f"v1,{'A' * 43}=", regex=r"^v1,[A-Za-z0-9+/]{43}=$"))
        exchange.with_body(event, "application/json")
        exchange.will_respond_with(status)
        with pact.serve() as mock:
            answered = deliver(str(mock.url).rstrip("/"), event)
        assert answered == status, f"{does}: {answered}"
        pact.write_file(folder)


main(sys.argv[1])
