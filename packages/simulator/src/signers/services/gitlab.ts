import { toNumber } from '../../made-ids.ts'
import { type PaymentEvent, type PaymentTypes, toSchemeType } from '../../payment-event.ts'
import type { Signer } from '../signer.ts'
import { standardWebhooks } from '../generic/standard-webhooks.ts'
import { writeJson } from '../write-json.ts'

const types: PaymentTypes = { succeeded: 'issue.close', failed: 'issue.reopen' }
const project = 15

/**
 * GitLab (docs.gitlab.com/user/project/integrations/webhooks): with a signing token (`whsec_`) as Standard Webhooks; any
 * other secret is sent in `X-Gitlab-Token`. The event is an issue that is closed when it is paid. Its title is the order id.
 */
export const gitlab: Signer = {
  types,
  settings: [],
  mapping: {
    events: {
      [types.succeeded]: 'payment.succeeded',
      [types.failed]: 'payment.failed',
      'issue.closed': 'payment.succeeded',
      'issue.opened': 'payment.failed',
    },
    orderReference: '/object_attributes/title',
  },
  writeEvent,
  paymentIdOf: ({ paymentId }) => String(toNumber(paymentId)),
  sign: (request) => [
    ['X-Gitlab-Event', 'Issue Hook'],
    ...(request.secret.startsWith('whsec_')
      ? standardWebhooks.sign({ ...request, settings: {} })
      : ([['X-Gitlab-Token', request.secret]] as const)),
  ],
  describeObject: (event) => ({
    path: `/api/v4/projects/${project}/issues/${toNumber(event.paymentId)}`,
    body: {
      id: toNumber(event.paymentId),
      iid: toNumber(event.paymentId),
      project_id: project,
      title: event.orderId,
      state: toSchemeType(types, event.type) === types.succeeded ? 'closed' : 'opened',
      updated_at: new Date(event.occurredAt).toISOString(),
    },
  }),
}

function writeEvent(event: PaymentEvent): Uint8Array {
  const [kind, action] = toSchemeType(types, event.type).split('.')
  return writeJson({
    object_kind: kind,
    event_type: kind,
    user: { id: 1, name: 'Administrator', username: 'root' },
    project: { id: project, name: 'Orders', path_with_namespace: 'oncehook/orders' },
    object_attributes: {
      id: toNumber(event.paymentId),
      iid: toNumber(event.paymentId),
      title: event.orderId,
      state: action === 'close' ? 'closed' : 'opened',
      action,
      updated_at: new Date(event.occurredAt).toISOString(),
    },
  })
}
