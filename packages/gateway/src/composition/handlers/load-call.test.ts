import { systemClock } from '@oncehook/kernel/clock'
import { keyOfSecret } from '@oncehook/kernel/parse-service-key'
import { Secret } from '@oncehook/kernel/secret'
import { readWebhookKey } from '@oncehook/kernel/sign-webhook'
import { expect, it, vi } from 'vitest'
import type { CallHandler } from '../../handlers/calls/call-handler.ts'
import { createGuardedFetch } from '../../handlers/calls/guarded-fetch.ts'
import { shareLookup } from '../../handlers/calls/share-lookup.ts'
import type { HandlerSettings } from '../../handlers/settings/read-handlers.ts'
import { loadCall, loadOnce } from './load-call.ts'

const task = { key: 'shop:evt_1:billing', attempt: 1, json: '{}' }

it('leaves a thread to other lookups while those of handlers of both kinds hang', async () => {
  const names: string[] = []
  const lookup = shareLookup((name) => {
    names.push(name)
    return new Promise(() => undefined)
  })
  const loadFetch = async ({ mayBePrivate }: { readonly mayBePrivate: boolean }) =>
    createGuardedFetch({ lookup, mayBePrivate })
  const serviceKeys = { current: () => [keyOfSecret(new Secret('a secret between the services, of a test'))] }
  const key = readWebhookKey(`whsec_${Buffer.alloc(32, 1).toString('base64')}`)
  const places = [
    { by: 'trpc', url: new URL('http://one.test/trpc') },
    {
      by: 'https',
      url: new URL('https://two.test/hook'),
      keys: [{ id: '1', key, notAfter: null }],
      mayBePrivate: false,
    },
    { by: 'trpc', url: new URL('http://three.test/trpc') },
  ]
  const calls = places.map((place, index) => {
    const handler = { name: `handler-${index}`, place, timeoutMs: 300 } as unknown as HandlerSettings
    return loadCall({ serviceKeys, clock: systemClock }, handler, loadFetch)([task])
  })
  const timedOut = { status: 'rejected', reason: { details: { reason: 'timed_out' } } }
  expect(await Promise.allSettled(calls)).toMatchObject([timedOut, timedOut, timedOut])
  expect(names).toHaveLength(1)
})

it('loads the calls of a handler once, and again only after that has failed', async () => {
  const load = vi.fn<() => Promise<CallHandler>>(async () => async (tasks) => tasks.map(() => ({ done: true })))
  load.mockRejectedValueOnce(new Error('EMFILE'))
  const call = loadOnce(load)
  await expect(call([])).rejects.toThrow('EMFILE')
  expect(await Promise.all([call([task]), call([task])])).toEqual([[{ done: true }], [{ done: true }]])
  await call([])
  expect(load).toHaveBeenCalledTimes(2)
})
