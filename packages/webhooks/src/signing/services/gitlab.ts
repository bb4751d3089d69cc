import { standardWebhooks } from '../generic/standard-webhooks.ts'
import { toNumber } from '../made-ids.ts'
import type { PaymentTypes } from '../payment-event.ts'
import { jsonSigner, type SchemeEvent, toSchemeEvent } from '../scheme-event.ts'

const types: PaymentTypes = { succeeded: 'issue.close', failed: 'issue.reopen' }
const project = 15

/**
 * GitLab (docs.gitlab.com/user/project/integrations/webhooks): with a signing token (`whsec_`) as Standard Webhooks; any
 * other secret is sent in `X-Gitlab-Token`. The event is an issue that is closed when it is paid. Its title is the order id.
 */
export const gitlab = jsonSigner(types, toBody, {
  mapping: {
    events: {
      [types.succeeded]: 'payment.succeeded',
      [types.failed]: 'payment.failed',
      'issue.closed': 'payment.succeeded',
      'issue.opened': 'payment.failed',
    },
    read: { order: '/object_attributes/title' },
  },
  paymentIdOf: ({ paymentId }) => String(toNumber(paymentId)),
  sign: (request) => [
    ['X-Gitlab-Event', 'Issue Hook'],
    ...(request.secret.startsWith('whsec_')
      ? standardWebhooks.sign({ ...request, settings: {} })
      : ([['X-Gitlab-Token', request.secret]] as const)),
  ],
  describeObject: (event) => ({
    path: `/api/v4/projects/${project}/issues/${toNumber(event.paymentId)}`,
    body: { project_id: project, ...toIssue(toSchemeEvent(event, types)) },
  }),
})

function toBody(event: SchemeEvent): object {
  const [kind, action] = event.type.split('.')
  return {
    object_kind: kind,
    event_type: kind,
    user: { id: 1, name: 'Administrator', username: 'root' },
    project: { id: project, name: 'Orders', path_with_namespace: 'oncehook/orders' },
    object_attributes: { ...toIssue(event), action },
  }
}

function toIssue(event: SchemeEvent): object {
  return {
    id: toNumber(event.paymentId),
    iid: toNumber(event.paymentId),
    title: event.orderId,
    state: event.type.endsWith('.close') ? 'closed' : 'opened',
    updated_at: event.at,
  }
}
