"""Reads calls from standard input, and prints for each whether the official library accepts it."""

import json
import sys

from standardwebhooks.webhooks import Webhook, WebhookVerificationError


def accepts(call):
    try:
        return Webhook(call["secret"]).verify(call["body"].encode(), call["headers"]) == json.loads(call["body"])
    except WebhookVerificationError:
        return False


print(json.dumps([accepts(call) for call in json.load(sys.stdin)]))
