import { afterAll, describe } from 'vitest'
import { contractEvent, formEvent, severalEvents } from './contract-event.ts'
import { HANDLER } from './sample-task.ts'
import { type Delivery, openStartedDispatch } from './started-dispatch.ts'
import { relayTasks } from './task-relay.ts'
import { type SignedMessage, testMessages } from './verify-messages.ts'

const SECRETS = ['the secret of this test, 32 byte', 'its next secret, also of 32 byte'].map(
  (text) => `whsec_${Buffer.from(text).toString('base64')}`,
)
const dispatch = await openStartedDispatch()
afterAll(() => dispatch[Symbol.asyncDispose]())

/** The last call of a handler with this delivery: the first time after answers that ask to try again at once. */
async function post(delivery: Delivery, { attempt = 1, secrets = SECRETS.slice(0, 1) } = {}): Promise<SignedMessage> {
  const again = { status: 409, headers: { 'retry-after': '0' } }
  await using relay = await relayTasks((_, index) => (index < attempt - 1 ? again : { status: 204 }))
  const keys = secrets.map((value, id) => ({ id: `s${id}`, value }))
  await dispatch.send({ [HANDLER]: { https: `${relay.url}/webhooks`, secrets: keys } }, [delivery], [attempt])
  const [message] = relay.sent.slice(-1)
  if (message === undefined) throw new Error('Nothing was posted')
  return { ...message, secrets }
}

let events = 0
const deliveryOf = (name: string): Delivery => contractEvent(`${name}-${++events}`).delivery

describe('the gateway as a sender of tasks', () => {
  testMessages('gateway', 'https-handler-gateway', {
    'a task': () => post(deliveryOf('new')),
    'a task for the second time': () => post(deliveryOf('second'), { attempt: 2 }),
    'a task while the secrets change': () => post(deliveryOf('rotation'), { secrets: SECRETS }),
    'a task of a delivery with several events': () => post(severalEvents(`EV${++events}`)),
    'a task whose delivery is not JSON': () => post(formEvent(++events).delivery),
  })
})
