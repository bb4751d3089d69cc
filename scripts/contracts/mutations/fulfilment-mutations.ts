import { type Mutation, mutationsOf, PRESENT } from './mutation.ts'

const PROVIDER = { test: 'test/contract/gateway-fulfilment.provider.test.ts', only: PRESENT, consumers: ['gateway'] }

/** Changes of fulfilment, which the gateway calls. */
const ofFulfilment = mutationsOf(PROVIDER, [
  {
    breaks: 'a member of an order is renamed',
    tells: 'missing the following keys: amountDue',
    file: 'packages/fulfilment/src/orders/stored/order-document.ts',
    find: 'amountDue: order.amountDue,',
    replace: 'amountOwed: order.amountDue,',
  },
  {
    breaks: 'a stale version is answered with another status',
    tells: 'expected 412 but was 409',
    file: 'packages/kernel/src/error-codes.ts',
    find: 'status: 412,',
    replace: 'status: 409,',
  },
  {
    breaks: 'a stale version is answered without the current one',
    tells: 'missing the following keys: version',
    file: 'packages/kernel/src/trpc/trpc-errors.ts',
    find: '...(known.status === 412 ? { version: version ?? null } : {}),',
    replace: '',
  },
  {
    breaks: 'a version becomes a text',
    tells: "'3' (String) to be equal to 3",
    file: 'packages/fulfilment/src/payments/read-versions.ts',
    find: '!Number.isSafeInteger(version) ? null : version',
    replace: '!Number.isSafeInteger(version) ? null : String(version)',
  },
  {
    breaks: 'every version that is asked for is 1',
    tells: 'asks for the versions of orders',
    file: 'packages/fulfilment/src/payments/read-versions.ts',
    find: '!Number.isSafeInteger(version) ? null : version',
    replace: '!Number.isSafeInteger(version) ? null : 1',
  },
  {
    breaks: 'an outcome is renamed',
    tells: "'paid_before' (String)",
    file: 'packages/fulfilment/src/payments/transitions.ts',
    find: "{ outcome: 'already_paid', state }",
    replace: "{ outcome: 'paid_before', state }",
  },
  {
    breaks: 'a procedure is removed',
    tells: 'expected 200 but was 404',
    file: 'packages/fulfilment/src/router.ts',
    find: 'versions: versionsProcedure,',
    replace: '',
  },
  {
    breaks: 'a code of refusal is renamed',
    tells: "'no_such_order' (String)",
    file: 'packages/fulfilment/src/errors.ts',
    find: "defineError('order_unknown'",
    replace: "defineError('no_such_order'",
  },
  {
    breaks: 'a refusal is to be retried forever',
    tells: "'later' (String) to be equal to 'never'",
    file: 'packages/fulfilment/src/errors.ts',
    find: "defineError('amount_mismatch', {\n  status: 409,\n  retry: 'never',",
    replace: "defineError('amount_mismatch', {\n  status: 409,\n  retry: 'later',",
  },
  {
    breaks: 'no token is required',
    tells: 'asks without a token: $',
    file: 'packages/fulfilment/src/http/app.ts',
    find: 'const token = await verifyToken(request.headers.authorization)',
    replace:
      "const token = { issuer: 'anybody', subject: null, checkProcedure() {}, checkCondition() {}, checkInput() {} }",
  },
  {
    breaks: 'the challenge of a refused token is missing',
    tells: "a header 'WWW-Authenticate'",
    file: 'packages/kernel/src/service-token.ts',
    find: "{ 'WWW-Authenticate': 'Bearer' }",
    replace: '{}',
  },
  {
    breaks: 'answers are of another media type',
    tells: "but was 'text/plain'",
    file: 'packages/kernel/src/trpc/handle-rpc.ts',
    find: "'content-type': 'application/json; charset=utf-8',",
    replace: "'content-type': 'text/plain',",
  },
  {
    breaks: 'a member that is null is left out',
    tells: 'missing the following keys: payment',
    file: 'packages/fulfilment/src/orders/stored/order-document.ts',
    find: 'payment === null\n        ? null',
    replace: 'payment === null\n        ? undefined',
  },
  {
    breaks: 'a deletion no longer looks at its If-Match',
    tells: 'deletes a version of an order that is no more',
    file: 'packages/fulfilment/src/orders/delete-order.ts',
    find: 'check(found.version)',
    replace: '',
  },
  {
    breaks: 'an optional member of an input becomes required',
    tells: 'hands on a payment that names no money',
    file: 'packages/fulfilment/src/payments/payment-event.ts',
    find: 'amount: z.number().optional(),',
    replace: 'amount: z.number(),',
  },
])

/** Changes of what fulfilment answers beyond the first happy case. */
const beyondFirst = mutationsOf(PROVIDER, [
  {
    breaks: 'a member that is absent becomes null',
    tells: 'patches an order',
    file: 'packages/fulfilment/src/orders/stored/order-document.ts',
    find: '...(email === undefined ? {} : { email }),\n    ...(note',
    replace: '...(email === undefined ? { email: null as never } : { email }),\n    ...(note',
  },
  {
    breaks: 'a failed payment shows another status',
    tells: "'declined' (String)",
    file: 'packages/fulfilment/src/payments/transitions.ts',
    find: "provider, status: 'failed', at: fact.at }",
    replace: "provider, status: 'declined' as never, at: fact.at }",
  },
  {
    breaks: 'too many events of one order are refused permanently',
    tells: 'too large for a contract',
    file: 'packages/fulfilment/src/errors.ts',
    find: "defineError('version_conflict', {\n  status: 409,\n  retry: 'now',",
    replace: "defineError('version_conflict', {\n  status: 409,\n  retry: 'never',",
    only: 'too many',
  },
  {
    breaks: 'a call that is too large is answered with another status',
    tells: 'too large for a contract',
    file: 'packages/kernel/src/error-codes.ts',
    find: "defineError('payload_too_large', {\n  status: 413,",
    replace: "defineError('payload_too_large', {\n  status: 400,",
    only: 'too many',
  },
  {
    breaks: 'two events of one order get the same version',
    tells: 'hands on two events of one order in one call',
    file: 'packages/fulfilment/src/payments/decide-order.ts',
    find: 'const version = draft.order.version + draft.applied',
    replace: 'const version = draft.order.version + 1',
  },
  {
    breaks: 'a deleted order can be read',
    tells: 'reads an order that was deleted',
    file: 'packages/fulfilment/src/orders/order-procedures.ts',
    find: 'if (!isLive(found) || isForeign(found, input.owner)) throw orderNotFound()\n    demandReadable(found)',
    replace:
      'if (found === null || isForeign(found, input.owner)) throw orderNotFound()\n    demandReadable(found as never)',
  },
  {
    breaks: 'orders of others are shown',
    tells: 'reads an order of somebody else',
    file: 'packages/fulfilment/src/orders/order-procedures.ts',
    find: '!isLive(found) || isForeign(found, input.owner)',
    replace: '!isLive(found)',
  },
  {
    breaks: 'a page of receipts begins with the last one of the page before',
    tells: 'lists the second page of receipts',
    file: 'packages/fulfilment/src/receipts/list-receipts.ts',
    find: "{ 'receipts.key': { $gt: afterKey } }]",
    replace: "{ 'receipts.key': { $gte: afterKey } }]",
  },
  {
    breaks: 'a receipt that was sent has no time',
    tells: 'lists a receipt that was sent',
    file: 'packages/fulfilment/src/receipts/list-receipts.ts',
    find: 'sentAt: instantOf(sentAt),',
    replace: 'sentAt: null,',
  },
  {
    breaks: 'a weak entity tag matches If-Match',
    tells: 'puts an order in place of a weak version',
    file: 'packages/kernel/src/preconditions.ts',
    find: '!matchesStrongly(match, version)',
    replace: '!matchesWeakly(match, version)',
  },
])

/** The mutations of fulfilment. */
export const FULFILMENT_MUTATIONS: readonly Mutation[] = [...ofFulfilment, ...beyondFirst]
