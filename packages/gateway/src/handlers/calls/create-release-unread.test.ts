import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { expect, it, vi } from 'vitest'
import type { Claim } from '../../inbox/claims/claim.ts'
import { createReleaseUnread } from './create-release-unread.ts'

const UNREAD = [{} as Claim, {} as Claim]

it('releases the claims after a pause, and says which read failed', async () => {
  const { logger, lines } = memoryLogger()
  const [release, countError] = [vi.fn(async () => undefined), vi.fn()]
  const error = new Error('The pool was cleared')
  const released = createReleaseUnread({ claims: { release }, logger, handler: 'billing', countError })(UNREAD, error)
  expect(countError).toHaveBeenCalledExactlyOnceWith(error)
  expect(lines).toMatchObject([{ msg: 'dispatch.database-failed', handler: 'billing', events: 2 }])
  expect(release).not.toHaveBeenCalled()
  await released
  expect(release).toHaveBeenCalledExactlyOnceWith(UNREAD)
})

it('leaves them to the search for strays if they cannot be released', async () => {
  const { logger, lines } = memoryLogger()
  const release = () => Promise.reject(new Error('There is no primary'))
  const releaseUnread = createReleaseUnread({
    claims: { release },
    logger,
    handler: 'billing',
    countError: () => undefined,
  })
  await releaseUnread(UNREAD, new Error('There is no primary'))
  expect(lines.map(({ msg }) => msg)).toEqual(['dispatch.database-failed', 'event.release-failed'])
})
