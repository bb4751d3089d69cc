import type { Change, Mutation } from './mutation.ts'

const GATEWAY = 'packages/gateway/src'
const KERNEL = 'packages/kernel/src'

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

/** The mutations of the gateway as a client of fulfilment. */
export const GATEWAY_MUTATIONS: readonly Mutation[] = [
  ...ofGateway.map((change) => ({
    ...{ test: 'test/contract/gateway-fulfilment.consumer.test.ts', consumers: ['gateway'] },
    ...change,
  })),
  ...ofOrders.map((change) => ({
    ...{ test: 'test/contract/gateway-fulfilment-orders.consumer.test.ts', consumers: ['gateway'] },
    ...change,
  })),
]
