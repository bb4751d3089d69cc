import { type Mutation, mutationsOf } from './mutation.ts'

const PAYMENTS = { test: 'test/contract/gateway-fulfilment.consumer.test.ts', consumers: ['gateway'] }
const ORDERS = { test: 'test/contract/gateway-fulfilment-orders.consumer.test.ts', consumers: ['gateway'] }
const DISPATCH = { test: 'test/contract/gateway-dispatch.consumer.test.ts', consumers: ['gateway'] }

/** Changes of the gateway, which calls fulfilment. */
const ofGateway = mutationsOf(PAYMENTS, [
  {
    breaks: 'the gateway drops its token',
    tells: "header 'authorization'",
    file: 'packages/kernel/src/service-fetch.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source code
    find: '`Bearer ${await tokens.issue({ ...toCall(address, init, headers), subject })}`',
    replace: "''",
  },
  {
    breaks: 'the gateway renames a member of what it sends',
    tells: 'keys [events]',
    file: 'packages/gateway/src/fulfilment/fulfilment-client.ts',
    find: 'mutate({ events: [...events] })',
    replace: 'mutate({ items: [...events] })',
  },
  {
    breaks: 'the gateway asks by another method',
    tells: 'Method: POST',
    file: 'packages/gateway/src/fulfilment/fulfilment-client.ts',
    find: 'client.payments.versions.query(',
    replace: 'client.payments.versions.mutate(',
  },
])

/** Changes of the gateway as a client of orders. */
const ofOrders = mutationsOf(ORDERS, [
  {
    breaks: 'the gateway drops the If-Match of its caller',
    tells: 'keys [id, ifMatch, order]',
    file: 'packages/gateway/src/http/orders/order-requests.ts',
    find: '...(ifMatch === undefined ? {} : { ifMatch }),',
    replace: '',
  },
  {
    breaks: 'the gateway no longer reads the version behind a refusal',
    tells: 'puts an order in place of a version that is no more',
    file: 'packages/gateway/src/fulfilment/fulfilment-client.ts',
    find: 'version === undefined ? {} : { version }',
    replace: '{}',
  },
  {
    breaks: 'the gateway rewrites the If-Match of its caller',
    tells: 'puts an order in place of one of several versions',
    file: 'packages/gateway/src/http/orders/order-requests.ts',
    find: '...(ifMatch === undefined ? {} : { ifMatch }),',
    replace: "...(ifMatch === undefined ? {} : { ifMatch: ifMatch.replace(/W\\//g, '') }),",
  },
  {
    breaks: 'the gateway adds a member to what a shop sends',
    tells: 'puts an order that was not there',
    file: 'packages/gateway/src/http/orders/change-order.ts',
    find: 'orders.put.mutate({ id, order, ...conditionsOf(ctx)',
    replace: "orders.put.mutate({ id, order, via: 'api', ...conditionsOf(ctx)",
  },
  {
    breaks: 'a token for own orders gets those of all',
    tells: 'with a token for its own orders',
    file: 'packages/gateway/src/http/orders/order-context.ts',
    find: 'return state.grant.own ? { owner: state.principal } : {}',
    replace: 'return {}',
  },
  {
    breaks: 'all callers of the gateway share their keys',
    tells: '$.idempotency.principal',
    file: 'packages/gateway/src/http/orders/create-order.ts',
    find: 'principal: ctx.state.principal,',
    replace: "principal: 'anybody',",
  },
])

/** Changes of what the dispatcher of the gateway sends to fulfilment. */
const ofDispatcher = mutationsOf(DISPATCH, [
  {
    breaks: 'the gateway sends a member that nobody agreed on',
    tells: 'expected [ ',
    file: 'packages/gateway/src/dispatch/payment-command.ts',
    find: 'type, paymentId: event.objectId, orderId },',
    replace: "type, paymentId: event.objectId, orderId, source: 'webhook' } as never,",
  },
  {
    breaks: 'the gateway sends the version without its quotes',
    tells: "expected '7' to be",
    file: 'packages/gateway/src/dispatch/apply-payments.ts',
    find: "? '*' : formatEntityTag(version)",
    replace: "? '*' : String(version)",
  },
  {
    breaks: 'the gateway leaves out the currency',
    tells: 'currency',
    file: 'packages/gateway/src/dispatch/payment-command.ts',
    find: '...(currency === undefined ? {} : { currency }),',
    replace: '',
  },
  {
    breaks: 'the gateway sends times in seconds',
    tells: 'to match /^\\d{4}-',
    file: 'packages/gateway/src/dispatch/payment-command.ts',
    find: 'occurredAt: at }',
    replace: 'occurredAt: String(Date.parse(at)) }',
  },
])

/** The mutations of the gateway as a client of fulfilment. */
export const GATEWAY_MUTATIONS: readonly Mutation[] = [...ofGateway, ...ofOrders, ...ofDispatcher]
