import { type Mutation, mutationsOf } from './mutation.ts'

const HTTPS = { test: 'test/contract/gateway-https-handler.consumer.test.ts', consumers: ['gateway'] }
const TRPC = { test: 'test/contract/gateway-trpc-handler.consumer.test.ts', consumers: ['gateway'] }
const TASKS = { test: 'test/contract/https-handler-messages.provider.test.ts', consumers: ['https-handler'] }
const RECEIPTS = { test: 'test/contract/receipt-sink-messages.provider.test.ts', consumers: ['receipt-sink'] }
const HANDLER = { test: 'test/contract/gateway-https-handler.provider.test.ts', consumers: ['gateway'] }
const SINK = 'packages/fulfilment/src/receipts/sinks/https-sink.ts'

/** Changes of the calls to `https:` handlers. */
const ofHttpsCalls = mutationsOf(HTTPS, [
  {
    breaks: 'the header that counts the attempts is renamed',
    tells: 'oncehook-attempt',
    file: 'packages/gateway/src/handlers/calls/https-call.ts',
    find: "'oncehook-attempt': String(attempt)",
    replace: "'oncehook-try': String(attempt)",
  },
  {
    breaks: 'a task that is refused permanently is tried again',
    tells: 'handler_refused',
    file: 'packages/gateway/src/handlers/calls/read-verdict.ts',
    find: 'new Set([410, 422])',
    replace: 'new Set([410])',
  },
])

/** Changes of the calls to tRPC handlers. */
const ofTrpcCalls = mutationsOf(TRPC, [
  {
    breaks: 'a batch names its handler by another property',
    tells: 'called',
    file: 'packages/gateway/src/handlers/calls/trpc-call.ts',
    find: '"handler":$',
    replace: '"called":$',
  },
  {
    breaks: 'a handler can no longer ask for a task to be tried again at once',
    tells: 'learns for each task when to try again',
    file: 'packages/gateway/src/handlers/calls/task-results.ts',
    find: "retry: z.enum(['now', 'later', 'never'])",
    replace: "retry: z.enum(['later', 'never'])",
  },
  {
    breaks: 'the gateway no longer reads in how many seconds a task may come again',
    tells: 'learns why a task is refused',
    file: 'packages/gateway/src/handlers/calls/task-results.ts',
    find: 'retryAfter: z.int().min(0).optional().catch(undefined),',
    replace: '',
  },
])

/** Changes of the tasks that handlers get. */
const ofTasks = mutationsOf(TASKS, [
  {
    breaks: 'a task no longer says when it was received',
    tells: 'receivedAt',
    file: 'packages/gateway/src/handlers/events/task-event.ts',
    find: 'receivedAt: receivedAt.toISOString(),',
    replace: '',
  },
  {
    breaks: 'a task no longer says which event of a delivery with several it is',
    tells: 'pointer',
    file: 'packages/gateway/src/handlers/events/task-event.ts',
    find: '...(pointer === undefined ? {} : { pointer }),',
    replace: '',
  },
  {
    breaks: 'a body that is not JSON is sent as text',
    tells: 'raw',
    file: 'packages/gateway/src/handlers/events/task-event.ts',
    find: "raw.toString('base64')",
    replace: "raw.toString('latin1')",
  },
])

/** Changes of the receipts that are posted. */
const ofReceipts = mutationsOf(RECEIPTS, [
  {
    breaks: 'a receipt is posted without its key as a header',
    tells: 'idempotency-key',
    file: SINK,
    find: "'idempotency-key': receipt.key, ",
    replace: '',
  },
  {
    breaks: 'the amount of a receipt becomes a text',
    tells: 'amount',
    file: SINK,
    find: 'JSON.stringify(receipt)',
    replace: 'JSON.stringify({ ...receipt, amount: String(receipt.amount) })',
  },
])

/** Changes of how handlers answer. */
const ofHandlers = mutationsOf(HANDLER, [
  {
    breaks: 'a handler refuses a task that it has done before',
    tells: 'status code 409',
    file: 'packages/handler/src/http/respond.ts',
    find: 'answerJson(200, said)',
    replace: 'answerJson(said.repeated ? 409 : 200, said)',
  },
  {
    breaks: 'a handler no longer says when to try again',
    tells: 'Retry-After',
    file: 'packages/handler/src/http/answer.ts',
    find: "{ 'retry-after': String(retryAfter) }",
    replace: '{}',
  },
])

/** Changes that break the contracts of handlers and of the receivers of receipts. */
export const HANDLER_MUTATIONS: readonly Mutation[] = [
  ...ofHttpsCalls,
  ...ofTrpcCalls,
  ...ofTasks,
  ...ofReceipts,
  ...ofHandlers,
]
