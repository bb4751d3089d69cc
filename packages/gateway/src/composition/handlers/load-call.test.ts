import { expect, it, vi } from 'vitest'
import type { CallHandler } from '../../handlers/calls/call-handler.ts'
import { loadOnce } from './load-call.ts'

const task = { key: 'shop:evt_1:billing', attempt: 1, json: '{}' }

it('loads the calls of a handler once, and again only after that has failed', async () => {
  const load = vi.fn<() => Promise<CallHandler>>(async () => async (tasks) => tasks.map(() => ({ done: true })))
  load.mockRejectedValueOnce(new Error('EMFILE'))
  const call = loadOnce(load)
  await expect(call([])).rejects.toThrow('EMFILE')
  expect(await Promise.all([call([task]), call([task])])).toEqual([[{ done: true }], [{ done: true }]])
  await call([])
  expect(load).toHaveBeenCalledTimes(2)
})
