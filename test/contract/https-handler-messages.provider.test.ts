import { readWebhookKey } from '@oncehook/kernel/secrets/sign-webhook'
import { systemClock } from '@oncehook/kernel/time/clock'
import { describe } from 'vitest'
import { createHttpsCall } from '../../packages/gateway/src/handlers/https-call.ts'
import type { TaskEvent } from '../../packages/gateway/src/handlers/task-event.ts'
import { sampleTask } from './sample-task.ts'
import { recordMessage, type SentMessage, testMessages } from './verify-messages.ts'

const SECRETS = ['the secret of this test, 32 byte', 'its next secret, also of 32 byte'].map(
  (text) => `whsec_${Buffer.from(text).toString('base64')}`,
)

/** What the gateway posts for a task. */
async function post(task: TaskEvent, secrets = 1): Promise<SentMessage> {
  const { fetch, message } = recordMessage()
  const keys = SECRETS.slice(-secrets).map((secret, index) => {
    const key = readWebhookKey(secret)
    if (key === null) throw new Error('The secret of a test is invalid')
    return { id: `key ${index}`, key, notAfter: null }
  })
  const call = createHttpsCall({
    place: { by: 'https', url: new URL('https://billing.test/webhooks'), keys, mayBePrivate: false },
    ...{ clock: systemClock, timeoutMs: 10_000, fetch },
  })
  await call([task])
  return message()
}

describe('the gateway as a sender of tasks', () => {
  testMessages('gateway', 'https-handler-gateway', SECRETS[1] ?? '', {
    'a task': () => post(sampleTask({ eventId: 'new' })),
    'a task for the second time': () => post(sampleTask({ eventId: 'second', attempt: 2 })),
    'a task while the secrets change': () => post(sampleTask({ eventId: 'rotation' }), 2),
    'a task of a delivery with several events': () =>
      post(sampleTask({ eventId: 'several', raw: Buffer.from('{"events":[{"id":"EV1"}]}'), pointer: '/events/0' })),
    'a task whose delivery is not JSON': () => post(sampleTask({ eventId: 'form', raw: Buffer.from('type=paid') })),
  })
})
