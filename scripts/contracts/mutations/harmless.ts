import type { SourceChange } from './mutation.ts'

/** Changes that break no caller. The contract tests must pass with all of them together. */
export const HARMLESS: readonly SourceChange[] = [
  {
    breaks: 'a log line of the gateway has another text',
    file: 'packages/gateway/src/http/webhooks/log-delivery.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source code
    find: '`webhook.${outcome}`',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source code
    replace: '`delivery.${outcome}`',
  },
  {
    breaks: 'a log line of fulfilment has another text',
    file: 'packages/fulfilment/src/http/app.ts',
    find: "code: error.code }, 'request.completed')",
    replace: "code: error.code }, 'call.completed')",
  },
  {
    breaks: 'a query has its members in another order',
    file: 'packages/gateway/src/http/orders/order-requests.ts',
    find: 'return { limit: Number(limit), ...(after === null ? {} : { after }), ...(status === null ? {} : { status }) }',
    replace:
      'return { ...(status === null ? {} : { status }), ...(after === null ? {} : { after }), limit: Number(limit) }',
  },
  {
    breaks: 'an input has its members in another order',
    file: 'packages/gateway/src/http/orders/change-order.ts',
    find: 'orders.put.mutate({ id, order, ...conditionsOf(ctx), ...ownerOf(ctx) }',
    replace: 'orders.put.mutate({ ...conditionsOf(ctx), ...ownerOf(ctx), order, id }',
  },
  {
    breaks: 'an answer has its members in another order',
    file: 'packages/fulfilment/src/orders/stored/order-document.ts',
    find: '    id: order._id,\n    version: order.version,\n    status: order.status,',
    replace: '    status: order.status,\n    version: order.version,\n    id: order._id,',
  },
  {
    breaks: 'an answer has a new member',
    file: 'packages/fulfilment/src/receipts/release-receipt.ts',
    find: 'return { key, orderId',
    replace: 'return { at: 1, key, orderId',
  },
  {
    breaks: 'an order has a new member',
    file: 'packages/fulfilment/src/orders/stored/order-document.ts',
    find: '    updatedAt: order.updatedAt.toISOString(),\n  }',
    replace: '    updatedAt: order.updatedAt.toISOString(),\n    isNew: order.version === 1,\n  }',
  },
  {
    breaks: 'a refusal has another sentence',
    file: 'packages/fulfilment/src/errors.ts',
    find: "message: 'Order not found'",
    replace: "message: 'There is no such order'",
  },
  {
    breaks: 'the message for a refused delivery has other words',
    file: 'packages/gateway/src/errors.ts',
    find: "message: 'The signature does not match the body'",
    replace: "message: 'This signature belongs to another body or another secret'",
  },
  {
    breaks: 'an error code is new',
    file: 'packages/fulfilment/src/errors.ts',
    find: '/** The order does not exist or was deleted. */',
    replace:
      "export const orderTired = defineError('order_tired', { status: 409, retry: 'later', message: 'It rests' })\n",
  },
  {
    breaks: 'fulfilment sends a further header',
    file: 'packages/fulfilment/src/http/app.ts',
    find: "response.setHeader('Cache-Control', 'no-store')",
    replace: "response.setHeader('Cache-Control', 'no-store')\n    response.setHeader('X-Served-By', 'fulfilment')",
  },
  {
    breaks: 'the gateway sends a further header to its callers',
    file: 'packages/gateway/src/http/request-context.ts',
    find: "return { 'X-Request-Id': requestId,",
    replace: "return { 'X-Served-By': 'gateway', 'X-Request-Id': requestId,",
  },
  {
    breaks: 'the gateway sends a further header to fulfilment',
    file: 'packages/kernel/src/service-fetch.ts',
    find: 'const headers = new Headers(init.headers)',
    replace: "const headers = new Headers(init.headers)\n    headers.set('x-release', '9.9.9')",
  },
  {
    breaks: 'a token has a further claim',
    file: 'packages/kernel/src/service-token.ts',
    find: 'const bound = { jti: newId(),',
    replace: "const bound = { release: '9.9.9', jti: newId(),",
  },
  {
    breaks: 'a call may have more events',
    file: 'packages/fulfilment/src/payments/payment-procedures.ts',
    find: 'const MAX_EVENTS = 500',
    replace: 'const MAX_EVENTS = 600',
  },
  {
    breaks: 'an input may have a further member',
    file: 'packages/fulfilment/src/receipts/receipt-procedures.ts',
    find: '      orderId: z.string().regex(ORDER_ID).optional(),',
    replace: '      paymentId: z.string().optional(),\n      orderId: z.string().regex(ORDER_ID).optional(),',
  },
  {
    breaks: 'the answer to a delivery has a further member',
    file: 'packages/gateway/src/http/webhooks/webhook-handler.ts',
    find: '{"received":true}',
    replace: '{"received":true,"by":"gateway"}',
  },
  {
    breaks: 'the gateway waits longer for fulfilment',
    file: 'packages/gateway/src/composition/load-fulfilment.ts',
    find: 'timeoutMs: CALL_MS })',
    replace: 'timeoutMs: 2 * CALL_MS })',
  },
]
