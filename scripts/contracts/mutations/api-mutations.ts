import { type Mutation, mutationsOf } from './mutation.ts'

/** Changes of the operator API, which the command line and the page call. */
const ofApi = mutationsOf({ test: 'test/contract/operator-api.provider.test.ts', consumers: ['cli', 'console'] }, [
  {
    breaks: 'the overview renames the dead events',
    tells: 'missing the following keys: deadByReason',
    file: 'packages/gateway/src/operator/overview-procedures.ts',
    find: '    deadByReason,\n    oldestUnsettledSeconds: old',
    replace: '    deadBy: deadByReason,\n    oldestUnsettledSeconds: old',
  },
  {
    breaks: 'a closed event has another state',
    tells: "'done' (String)",
    file: 'packages/gateway/src/operator/events/event-change-procedures.ts',
    find: "state: 'closed' as const",
    replace: "state: 'done' as const",
    consumers: ['cli'],
  },
  {
    breaks: 'an operator needs another role to pause',
    tells: 'pauses a provider with a token that may only read',
    file: 'packages/gateway/src/operator/operator-trpc.ts',
    find: "demandRole(ctx, 'operate')",
    replace: "demandRole(ctx, 'read')",
  },
  {
    breaks: 'a change of an operator no longer takes its reason',
    tells: '400',
    file: 'packages/gateway/src/operator/pause-procedures.ts',
    find: 'provider: z.string().min(1).max(255), reason: reasonSchema',
    replace: 'provider: z.string().min(1).max(255), why: reasonSchema',
  },
  {
    breaks: 'an entry of the audit log has no time',
    tells: 'at',
    file: 'packages/gateway/src/operator/audit/audit-procedures.ts',
    find: 'id: String(_id), at: at.toISOString(),',
    replace: 'id: String(_id), when: at.toISOString(),',
  },
  {
    breaks: 'an event that is not due lacks the time instead of null',
    tells: 'dueAt',
    file: 'packages/gateway/src/operator/events/show-event.ts',
    find: 'dueAt: dueAtOf(record),',
    replace: '...(dueAtOf(record) === null ? {} : { dueAt: dueAtOf(record) }),',
  },
  {
    breaks: 'a dry run starts a replay',
    tells: 'asks what a replay would concern',
    file: 'packages/gateway/src/operator/replays/replay-procedures.ts',
    find: 'if (dryRun) return',
    replace: 'if (dryRun && includeDone) return',
  },
  {
    breaks: 'the secrets of a provider have another name',
    tells: 'missing the following keys: secrets',
    file: 'packages/gateway/src/operator/provider-procedures.ts',
    find: '    secrets: secrets.map(',
    replace: '    keys: secrets.map(',
  },
  {
    breaks: 'the newest entry of the audit log is not named',
    tells: 'last',
    file: 'packages/gateway/src/operator/audit/audit-procedures.ts',
    find: 'ctx.audit.verify(after))',
    replace: 'ctx.audit.verify(after).then((found) => ({ ...found, last: null })))',
    consumers: ['cli'],
  },
  {
    breaks: 'a released event has another state',
    tells: "'due' (String)",
    file: 'packages/gateway/src/operator/events/event-change-procedures.ts',
    find: "state: 'pending' as const",
    replace: "state: 'due' as const",
    consumers: ['cli'],
  },
  {
    breaks: 'a code that signs in does not say until when',
    tells: 'missing the following keys: expiresAt',
    file: 'packages/gateway/src/operator/sign-in/sign-in-procedures.ts',
    find: 'code: text.reveal(), expiresAt: new Date(endsAt).toISOString() }',
    replace: 'code: text.reveal(), until: new Date(endsAt).toISOString() }',
    consumers: ['cli'],
  },
  {
    breaks: 'a removed handler is listed as if it were still called',
    tells: 'lists handlers, one of which was removed',
    file: 'packages/gateway/src/operator/handlers/list-handlers-procedure.ts',
    find: "name === null ? 'built in' : 'removed'",
    replace: "name === null ? 'built in' : 'https'",
  },
  {
    breaks: 'somebody who signs in does not learn the roles',
    tells: 'missing the following keys: roles',
    file: 'packages/gateway/src/operator/sign-in/sign-in-procedures.ts',
    find: 'roles: [...ctx.roles],',
    replace: 'rights: [...ctx.roles],',
    consumers: ['console'],
  },
  {
    breaks: 'a silent provider looks as if it were not',
    tells: 'shows the health of providers',
    file: 'packages/gateway/src/operator/health/provider-health-procedure.ts',
    find: 'silentSince: silentSince?.toISOString() ?? null,',
    replace: 'silentSince: null,',
    consumers: ['console'],
  },
  {
    breaks: 'refused deliveries are counted under another name',
    tells: 'missing the following keys: records',
    file: 'packages/gateway/src/operator/refusal-procedures.ts',
    find: '({ reason, records }))',
    replace: '({ reason, count: records }))',
    consumers: ['console'],
  },
])

/** Changes of the command line, which calls the operator API. */
const ofCommandLine = mutationsOf({ test: 'test/contract/cli-operator-changes.consumer.test.ts', consumers: ['cli'] }, [
  {
    breaks: 'the command line sends no token',
    tells: "header 'authorization'",
    file: 'packages/cli/src/operator/operator-client.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source code
    find: 'headers: { authorization: `Bearer ${token}` },',
    replace: 'headers: {},',
    test: 'test/contract/cli-operator-queries.consumer.test.ts',
  },
  {
    breaks: 'the command line rotates the keys when it is asked for a dry run',
    tells: 'begins to rotate the keys',
    file: 'packages/cli/src/commands/encryption-rotate.ts',
    find: 'mutate({ reason, dryRun, ...asked })',
    replace: 'mutate({ reason, dryRun: false, ...asked })',
  },
  {
    breaks: 'the command line gives no reason',
    tells: 'closes a dead event',
    file: 'packages/cli/src/commands/events/events-close.ts',
    find: 'client.events.close.mutate({ id, reason })',
    replace: 'client.events.close.mutate({ id } as never)',
  },
])

/** Changes of the page, which calls the operator API. */
const ofPage = mutationsOf({ test: 'test/contract/console-operator-api.consumer.test.ts', consumers: ['console'] }, [
  {
    breaks: 'the page calls the operator API elsewhere',
    tells: 'shows an overview',
    file: 'packages/console/src/api/operator-client.ts',
    find: "const URL_OF_API = '/operator'",
    replace: "const URL_OF_API = '/api/operator'",
  },
  {
    breaks: 'the page names the order of a search differently',
    tells: 'counts the events of an order that were received again',
    file: 'packages/console/src/events/event-search.ts',
    find: '{ orderId: order }',
    replace: '{ order }',
  },
])

/** Changes of the API of orders, which shops call. */
const ofShops = mutationsOf({ test: 'test/contract/orders-api.provider.test.ts', consumers: ['shop'] }, [
  {
    breaks: 'a shop gets no Location of an order that it made',
    tells: "a header 'Location'",
    file: 'packages/gateway/src/http/orders/create-order.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source code
    find: "ctx.set('Location', `${ORDERS_PATH}/${order.id}`)",
    replace: '',
  },
  {
    breaks: 'a shop gets no time to wait while fulfilment is unavailable',
    tells: "a header 'Retry-After'",
    file: 'packages/gateway/src/fulfilment/call-fulfilment.ts',
    find: "if (status === 503 || code === 'idempotency_in_progress')",
    replace: "if (code === 'idempotency_in_progress')",
  },
  {
    breaks: 'a shop that asks without a version gets another status',
    tells: 'expected 428 but was 400',
    file: 'packages/kernel/src/error-codes.ts',
    find: "defineError('precondition_required', {\n  status: 428,",
    replace: "defineError('precondition_required', {\n  status: 400,",
  },
  {
    breaks: 'a token that may only read may delete',
    tells: 'expected 403 but was 204',
    file: 'packages/gateway/src/http/orders/order-routes.ts',
    find: "demand('orders:delete')]",
    replace: "demand('orders:read')]",
  },
])

/** The mutations of the APIs for operators and shops. */
export const API_MUTATIONS: readonly Mutation[] = [...ofApi, ...ofCommandLine, ...ofPage, ...ofShops]
