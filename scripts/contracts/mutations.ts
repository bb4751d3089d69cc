/** A change of one text of the sources. */
export interface SourceChange {
  /** What is broken, as a sentence without a full stop. */
  readonly breaks: string
  readonly file: string
  /** A text that occurs once in the file, and its replacement. */
  readonly find: string
  readonly replace: string
}

/** A change of the sources that breaks a contract. A test must fail, and name the consumers that it breaks. */
export interface Mutation extends SourceChange {
  /** A text that the failure must contain. */
  readonly tells: string
  /** The file of the contract test that must fail. `only` selects some of its tests. */
  readonly test: string
  readonly only?: string
  /** The consumers that the failure must name. */
  readonly consumers: readonly string[]
}

type Change = Pick<Mutation, 'breaks' | 'tells' | 'file' | 'find' | 'replace'>

const SENDERS = ['standard-webhooks', 'stripe', 'github', 'hmac']
const FULFILMENT = 'packages/fulfilment/src'
const GATEWAY = 'packages/gateway/src'
const KERNEL = 'packages/kernel/src'
const SIGNING = 'packages/webhooks/src/signing'
// Skips the released contracts. They repeat the same checks while nothing differs, and would double the time.
const PRESENT = 'answers as (?!releases)'

/** Changes of fulfilment, which the gateway calls. */
const ofFulfilment: readonly Change[] = [
  {
    breaks: 'a member of an order is renamed',
    tells: 'missing the following keys: amountDue',
    file: `${FULFILMENT}/orders/stored/order-document.ts`,
    find: 'amountDue: order.amountDue,',
    replace: 'amountOwed: order.amountDue,',
  },
  {
    breaks: 'a stale version is answered with another status',
    tells: 'expected 412 but was 409',
    file: `${KERNEL}/error-codes.ts`,
    find: 'status: 412,',
    replace: 'status: 409,',
  },
  {
    breaks: 'a stale version is answered without the current one',
    tells: 'missing the following keys: version',
    file: `${KERNEL}/trpc/trpc-errors.ts`,
    find: '...(known.status === 412 ? { version: version ?? null } : {}),',
    replace: '',
  },
  {
    breaks: 'a version becomes a text',
    tells: "'1' (String) to be an integer",
    file: `${FULFILMENT}/payments/read-versions.ts`,
    find: '!Number.isSafeInteger(version) ? null : version',
    replace: '!Number.isSafeInteger(version) ? null : String(version)',
  },
  {
    breaks: 'an outcome is renamed',
    tells: "'paid_before' (String)",
    file: `${FULFILMENT}/payments/transitions.ts`,
    find: "{ outcome: 'already_paid', state }",
    replace: "{ outcome: 'paid_before', state }",
  },
  {
    breaks: 'a procedure is removed',
    tells: 'expected 200 but was 404',
    file: `${FULFILMENT}/router.ts`,
    find: 'versions: versionsProcedure,',
    replace: '',
  },
  {
    breaks: 'a code of refusal is renamed',
    tells: "'no_such_order' (String)",
    file: `${FULFILMENT}/errors.ts`,
    find: "defineError('order_unknown'",
    replace: "defineError('no_such_order'",
  },
  {
    breaks: 'a refusal is to be retried for ever',
    tells: "'later' (String) to be equal to 'never'",
    file: `${FULFILMENT}/errors.ts`,
    find: "defineError('amount_mismatch', {\n  status: 409,\n  retry: 'never',",
    replace: "defineError('amount_mismatch', {\n  status: 409,\n  retry: 'later',",
  },
  {
    breaks: 'no token is demanded',
    tells: 'asks without a token: $',
    file: `${FULFILMENT}/http/app.ts`,
    find: 'const token = await verifyToken(request.headers.authorization)',
    replace:
      "const token = { issuer: 'anybody', subject: null, isBound: true, checkProcedure() {}, checkCondition() {}, checkInput() {} }",
  },
  {
    breaks: 'the challenge of a refused token is missing',
    tells: "a header 'WWW-Authenticate'",
    file: `${KERNEL}/service-token.ts`,
    find: "{ 'WWW-Authenticate': 'Bearer' }",
    replace: '{}',
  },
  {
    breaks: 'answers are of another media type',
    tells: "but was 'text/plain'",
    file: `${KERNEL}/trpc/handle-rpc.ts`,
    find: "'content-type': 'application/json; charset=utf-8',",
    replace: "'content-type': 'text/plain',",
  },
  {
    breaks: 'a member that is null is left out',
    tells: 'missing the following keys: payment',
    file: `${FULFILMENT}/orders/stored/order-document.ts`,
    find: 'payment === null\n        ? null',
    replace: 'payment === null\n        ? undefined',
  },
  {
    breaks: 'a deletion no longer looks at its If-Match',
    tells: 'deletes a version of an order that is no more',
    file: `${FULFILMENT}/orders/delete-order.ts`,
    find: 'check(found.version)',
    replace: '',
  },
  {
    breaks: 'an optional member of an input becomes required',
    tells: 'hands on a payment that names no money',
    file: `${FULFILMENT}/payments/payment-event.ts`,
    find: 'amount: z.number().optional(),',
    replace: 'amount: z.number(),',
  },
]

/** Changes of fulfilment that only a comparison with the previous release can find. */
const sinceRelease: readonly Change[] = [
  {
    breaks: 'fewer events fit into a call than before',
    tells: 'maxItems 100 is demanded now',
    file: `${FULFILMENT}/payments/payment-procedures.ts`,
    find: 'const MAX_EVENTS = 500',
    replace: 'const MAX_EVENTS = 100',
  },
  {
    breaks: 'an order can have a status that its readers do not know',
    tells: 'widened enum: new to readers: "refunded"',
    file: `${FULFILMENT}/orders/order-schemas.ts`,
    find: "z.enum(['pending', 'payment_failed', 'paid'])",
    replace: "z.enum(['pending', 'payment_failed', 'paid', 'refunded'])",
  },
]

/** Changes of the gateway, which calls fulfilment. */
const ofGateway: readonly Change[] = [
  {
    breaks: 'the gateway drops its token',
    tells: "header 'authorization'",
    file: `${KERNEL}/service-fetch.ts`,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source code
    find: '`Bearer ${await tokens.issue({ ...toCall(address, init, headers), subject })}`',
    replace: "''",
  },
  {
    breaks: 'the gateway renames a member of what it sends',
    tells: 'keys [events]',
    file: `${GATEWAY}/fulfilment/fulfilment-client.ts`,
    find: 'mutate({ events: [...events] })',
    replace: 'mutate({ items: [...events] })',
  },
  {
    breaks: 'the gateway asks by another method',
    tells: 'Method: POST',
    file: `${GATEWAY}/fulfilment/fulfilment-client.ts`,
    find: 'client.payments.versions.query(',
    replace: 'client.payments.versions.mutate(',
  },
]

/** Changes of the gateway as a client of orders. */
const ofOrders: readonly Change[] = [
  {
    breaks: 'the gateway drops the If-Match of its caller',
    tells: 'keys [id, ifMatch, order]',
    file: `${GATEWAY}/http/orders/order-requests.ts`,
    find: '...(ifMatch === undefined ? {} : { ifMatch }),',
    replace: '',
  },
  {
    breaks: 'the gateway no longer reads the version behind a refusal',
    tells: 'puts an order in place of a version that is no more',
    file: `${GATEWAY}/fulfilment/fulfilment-client.ts`,
    find: 'version === undefined ? {} : { version }',
    replace: '{}',
  },
  {
    breaks: 'all callers of the gateway share their keys',
    tells: '$.idempotency.principal',
    file: `${GATEWAY}/http/orders/create-order.ts`,
    find: 'principal: ctx.state.principal,',
    replace: "principal: 'anybody',",
  },
]

/** Changes of the gateway as the receiver of deliveries from providers. */
const ofReceiver: readonly (Change & Partial<Mutation>)[] = [
  {
    breaks: 'the answer to a delivery is renamed',
    tells: 'missing the following keys: received',
    file: `${GATEWAY}/http/webhooks/webhook-handler.ts`,
    find: '{"received":true}',
    replace: '{"accepted":true}',
  },
  {
    breaks: 'a forged delivery is refused with another status',
    tells: 'expected 401 but was 403',
    file: `${GATEWAY}/errors.ts`,
    find: "defineError('signature_invalid', {\n  status: 401,",
    replace: "defineError('signature_invalid', {\n  status: 403,",
  },
  {
    breaks: 'a forged delivery is refused without a challenge',
    tells: "a header 'WWW-Authenticate'",
    file: `${GATEWAY}/receive/confirm-events.ts`,
    find: "{ 'WWW-Authenticate': 'Signature realm=\"webhooks\"' }",
    replace: '{}',
  },
  {
    breaks: 'a refused method is not told the right one',
    tells: "a header 'Allow'",
    file: `${GATEWAY}/http/webhooks/webhook-checks.ts`,
    find: "{ Allow: methods.join(', ') }",
    replace: '{}',
  },
  {
    breaks: 'a delivery of long ago is taken',
    tells: 'expected 401 but was 200',
    file: 'packages/webhooks/src/signatures/signature.ts',
    find: 'Math.abs(now',
    replace: '0 * Math.abs(now',
    consumers: ['standard-webhooks', 'stripe', 'hmac'],
  },
]

/** Changes of the senders of deliveries. */
const ofSenders: readonly (Change & Partial<Mutation>)[] = [
  {
    breaks: 'a sender renames the header of its signature',
    tells: "a header 'stripe-signature'",
    file: `${SIGNING}/payments/stripe.ts`,
    find: "'stripe-signature'",
    replace: "'x-stripe-signature'",
    consumers: ['stripe'],
  },
  {
    breaks: 'senders rename a member of their events',
    tells: 'asks for other things',
    file: `${SIGNING}/payment-event.ts`,
    find: 'object: { id: paymentId, orderId,',
    replace: 'object: { id: paymentId, order: orderId,',
    consumers: ['standard-webhooks', 'hmac'],
  },
]

/** All mutations that are tried. */
export const MUTATIONS: readonly Mutation[] = [
  ...ofFulfilment.map((change) => ({
    ...{ test: 'test/contract/gateway-fulfilment.provider.test.ts', only: PRESENT, consumers: ['gateway'] },
    ...change,
  })),
  ...sinceRelease.map((change) => ({
    ...{ test: 'test/contract/releases.provider.test.ts', consumers: ['gateway'] },
    ...change,
  })),
  ...ofGateway.map((change) => ({
    ...{ test: 'test/contract/gateway-fulfilment.consumer.test.ts', consumers: ['gateway'] },
    ...change,
  })),
  ...ofOrders.map((change) => ({
    ...{ test: 'test/contract/gateway-fulfilment-orders.consumer.test.ts', consumers: ['gateway'] },
    ...change,
  })),
  ...ofReceiver.map((change) => ({
    ...{ test: 'test/contract/webhook-gateway.provider.test.ts', only: PRESENT, consumers: SENDERS },
    ...change,
  })),
  ...ofSenders.map((change) => ({
    ...{ test: 'test/contract/webhook-gateway.consumer.test.ts', consumers: SENDERS },
    ...change,
  })),
]

/**
 * Returns the source with the mutation.
 * @throws if the text to replace does not occur exactly once, because then the mutation is out of date
 */
export function mutate(source: string, { breaks, file, find, replace }: SourceChange): string {
  const times = source.split(find).length - 1
  if (times !== 1) throw new Error(`${file} holds ${times} times, not once, what is changed so that ${breaks}: ${find}`)
  return source.replace(find, () => replace)
}
