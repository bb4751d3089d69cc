import { armFailPoint } from '@oncehook/kernel/testing/fail-point'
import { startProfile } from '@oncehook/kernel/testing/profile'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { describe, expect, it } from 'vitest'
import { FIRST_PAUSED_DUE_AT } from '../pauses.ts'
import type { TaskDocument } from '../task.ts'
import { EVENTS } from '../task.ts'
import { openQueue } from '../testing/open-queue.ts'
import { sampleTask } from '../testing/sample-task.ts'
import { createDueProbe, probedClaims } from './due-probe.ts'
import { Steadiness } from './steadiness.ts'

const MINUTE_MS = 60_000
const STEADY = new Steadiness(
  0,
  () => 0,
  async () => undefined,
)
const fromNow = (ms: number) => new Date(Date.now() + ms)
const pending = (members: Partial<TaskDocument>) => sampleTask({ state: 'pending', ...members })
const held = (handler: string, endsInMs: number) =>
  sampleTask({ handler, state: 'processing', claim: 'of a process', dueAt: fromNow(endsInMs) })

describe('the probe for due tasks', () => {
  it('looks once for all handlers, however many tasks wait', async () => {
    await using database = await testDatabase(process.env)
    await using open = await openQueue(database)
    const later = () => ({ dueAt: fromNow(5 * MINUTE_MS) })
    await open.events.insertMany([
      ...Array.from({ length: 200 }, () => pending({ handler: 'later', ...later() })),
      ...Array.from({ length: 200 }, () => pending({ handler: 'past', dueAt: fromNow(-1) })),
      ...[pending({ handler: 'new' }), pending({ handler: 'new', ...later() })],
      pending({ handler: 'of a paused provider', dueAt: FIRST_PAUSED_DUE_AT }),
      pending(later()),
      ...Array.from({ length: 200 }, () => held('held', MINUTE_MS)),
      ...[held('lost', MINUTE_MS), held('lost', -1)],
    ])
    await using profile = await startProfile(database.db)
    const probe = createDueProbe({
      db: open.db,
      maxMs: 15 * MINUTE_MS,
      steadiness: STEADY,
      now: () => performance.now(),
    })
    const names = ['later', 'past', 'new', 'of a paused provider', 'without tasks', 'fulfilment']
    expect(await Promise.all(names.map(probe.mayHaveDue))).toEqual([false, true, true, true, false, false])
    expect(await probe.suspected()).toEqual(['lost'])
    const [look, ...others] = await profile.examined(EVENTS)
    expect(others).toEqual([])
    expect(look?.keys).toBeLessThan(20)
  })

  it('knows when a task is due that was not yet due when it looked', async () => {
    await using database = await testDatabase(process.env)
    await using open = await openQueue(database)
    await open.events.insertOne(pending({ handler: 'a', dueAt: fromNow(MINUTE_MS) }))
    let now = 0
    const { mayHaveDue } = createDueProbe({ db: open.db, maxMs: 15 * MINUTE_MS, steadiness: STEADY, now: () => now })
    expect(await mayHaveDue('a')).toBe(false)
    // On a busy machine the time may be over before the look.
    await expect
      .poll(async () => {
        await open.events.updateOne({}, { $set: { dueAt: fromNow(500) } })
        now += 2_000
        return mayHaveDue('a')
      })
      .toBe(false)
    now += 600
    expect(await mayHaveDue('a'), 'the same look').toBe(true)
  })
})

it('learns that the database does not answer while there is nothing else to do', async () => {
  await using database = await testDatabase(process.env)
  await using open = await openQueue(database)
  let now = 0
  const steadiness = new Steadiness(
    10_000,
    () => now,
    async () => undefined,
  )
  const probe = createDueProbe({ db: open.db, maxMs: 15 * MINUTE_MS, steadiness, now: () => now })
  now += 10_000
  expect(await probe.suspected()).toEqual([])
  expect(steadiness.isSteady).toBe(true)
  now += 2_000
  {
    const failing = { commands: ['aggregate'], appName: open.appName, how: { errorCode: 50 } }
    await using _ = await armFailPoint(database.uri, failing)
    await expect(probe.suspected()).rejects.toMatchObject({ code: 50 })
  }
  expect(steadiness.isSteady).toBe(false)
})

describe('probed claims', () => {
  it('search without asking while they are busy, and find what is due when they are idle', async () => {
    await using database = await testDatabase(process.env)
    await using open = await openQueue(database)
    let now = 0
    const asked: string[] = []
    const { mayHaveDue } = createDueProbe({ db: open.db, maxMs: 15 * MINUTE_MS, steadiness: STEADY, now: () => now })
    const probe = {
      mayHaveDue(handler: string) {
        asked.push(handler)
        return mayHaveDue(handler)
      },
    }
    const claims = probedClaims(open.claims({ handler: 'a' }), { handler: 'a', now: () => now, probe })
    expect(await claims.claimDue(10)).toEqual([])
    expect(asked).toEqual([])
    now += 11_000
    expect(await claims.claimDue(10)).toEqual([])
    expect(asked).toEqual(['a'])
    await open.events.insertMany([pending({ handler: 'a' }), pending({ handler: 'b' })])
    now += 2_000
    expect(await claims.claimDue(10)).toHaveLength(1)
    expect(await claims.claimDue(10)).toEqual([])
    expect(asked).toHaveLength(2)
  })

  it('find a task once a minute that a wrong clock has put off, also while another one waits', async () => {
    await using database = await testDatabase(process.env)
    await using open = await openQueue(database)
    let now = 0
    const probe = createDueProbe({ db: open.db, maxMs: 15 * MINUTE_MS, steadiness: STEADY, now: () => now })
    const claims = probedClaims(open.claims({ handler: 'a' }), { handler: 'a', now: () => now, probe })
    const waiting = [fromNow(10 * MINUTE_MS), fromNow(20 * MINUTE_MS)]
    await open.events.insertMany(waiting.map((dueAt) => pending({ handler: 'a', dueAt })))
    now += 11_000
    expect(await claims.claimDue(10)).toEqual([])
    now += MINUTE_MS
    expect(await claims.claimDue(10)).toHaveLength(1)
  })
})
