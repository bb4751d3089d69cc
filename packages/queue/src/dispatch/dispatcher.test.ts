import { setImmediate as endOfTurn } from 'node:timers/promises'
import { unavailable } from '@oncehook/kernel/http/error-codes'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { describe, expect, it, vi } from 'vitest'
import type { Claim, SettledClaim } from '../claim/claim.ts'
import type { Claims } from '../claim/claims.ts'
import { NO_PAUSES } from '../testing/no-pauses.ts'
import { sampleClaim } from '../testing/sample-task.ts'
import { Dispatcher, type DispatcherDeps } from './dispatcher.ts'
import { createAllowance } from './pace.ts'
import type { Sent } from './send.ts'

const HOUR_MS = 3_600_000
const CALL_MS = 10_000
const LEASE_MS = 20_000

/** A call whose answer the test gives. */
interface OpenCall {
  readonly ids: readonly string[]
  /** The handler decides about all tasks of the call. */
  succeed(): Promise<void>
  /** Nobody knows what became of the call. */
  fail(): Promise<void>
  /** The database did not yield the tasks. */
  missAll(): Promise<void>
}

/** The claims of a database in memory, and what was done to them. */
function fakeClaims() {
  const due: Claim[] = []
  const suspects: Claim[][] = []
  const limits: number[] = []
  const [settled, released, asked]: [string[], string[], unknown[]] = [[], [], []]
  const claims: Claims = {
    async claimDue(limit) {
      limits.push(limit)
      return due.splice(0, limit)
    },
    async claimSuspects(verdictAt, limit) {
      asked.push([verdictAt?.getTime() ?? null, limit])
      return { claims: (suspects.shift() ?? []).slice(0, limit), buried: 0 }
    },
    async settle(some) {
      settled.push(...some.map(({ claim }) => claim.eventId))
      return []
    },
    async release(some) {
      released.push(...idsOf(some))
    },
    sweepLines: async () => undefined,
  }
  return { claims, due, suspects, limits, settled, released, asked }
}

function idsOf(claims: readonly Claim[]): string[] {
  return claims.map(({ eventId }) => eventId)
}

/** All that can happen without a timer has happened. */
async function quiet(): Promise<void> {
  for (let turns = 0; turns < 8; turns += 1) await endOfTurn()
}

/** A dispatcher with a database and a handler in memory, and clocks that the test sets. */
function setUp(members: Partial<DispatcherDeps> = {}) {
  const clocks = { now: 0, database: 0 }
  const database = fakeClaims()
  const calls: OpenCall[] = []
  let isPaused = false
  const now = (): number => clocks.now
  const { logger, lines } = memoryLogger()
  const dispatcher = new Dispatcher({
    ...{ handler: 'billing', claims: database.claims, pauses: NO_PAUSES, logger, now, random: () => 0.5 },
    ...{ databaseNow: () => clocks.database, batchSize: 1, concurrency: 1 },
    ...{ callMs: CALL_MS, leaseMs: LEASE_MS, onSettled: () => undefined, onLost: () => undefined },
    allowance: createAllowance({ ratePerSecond: null, isPaused: () => isPaused, now }),
    async send(claims) {
      const { promise, resolve } = Promise.withResolvers<Sent>()
      const answer = (sent: Sent): Promise<void> => {
        resolve(sent)
        return quiet()
      }
      calls.push({
        ids: idsOf(claims),
        succeed: () => answer({ settled: claims.map(doneOf), hasVerdict: true, failure: null, late: [], unread: null }),
        fail: () => answer(failureOf(claims)),
        missAll: () => answer({ ...NOTHING, unread: { error: new Error('The pool was cleared'), claims } }),
      })
      return promise
    },
    ...members,
  })
  return {
    ...{ dispatcher, clocks, calls, lines, ...database },
    sent: () => calls.map(({ ids }) => ids),
    pause(isNow: boolean) {
      isPaused = isNow
    },
    take(...claims: readonly Claim[]) {
      for (const claim of claims) dispatcher.take(claim)
    },
    async start() {
      dispatcher.start()
      await quiet()
    },
    /** A task was stored as pending, or so it seems: it looks for due ones. */
    async look() {
      dispatcher.expect()
      await quiet()
    },
    [Symbol.asyncDispose]: () => dispatcher.stop(0),
  }
}

const NOTHING: Sent = { settled: [], hasVerdict: false, failure: null, late: [], unread: null }

function doneOf(claim: Claim): SettledClaim {
  const attempt = { ms: 1, outcome: 'done', code: null, message: null }
  return { claim, settlement: { state: 'done', outcome: { kind: 'done', version: null } }, attempt }
}

function failureOf(claims: readonly Claim[]): Sent {
  const attempt = { ms: 1, outcome: 'deferred', code: 'unavailable', message: null }
  const waits = { delayMs: HOUR_MS, waited: HOUR_MS, waitedFor: { code: 'unavailable', ms: HOUR_MS } }
  const settlement = { state: 'pending', ...waits, broke: new Date(0) } as const
  const putOff = claims.map((claim) => ({ claim, settlement, attempt }))
  return { ...NOTHING, failure: { error: unavailable(), putOff } }
}

/** Claims that were made at a time of the database's clock. */
function claimsAt(ms: number, ...ids: readonly string[]): Claim[] {
  return ids.map((id) => sampleClaim(id, { endsAt: ms + LEASE_MS + CALL_MS }))
}

function many(count: number, prefix = 'e'): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index}`)
}

describe('Dispatcher', () => {
  describe('holds at most twice what it can send at once, four times if it sends singly', () => {
    it('of tasks that are stored', async () => {
      await using gateway = setUp({ batchSize: 2, concurrency: 3 })
      await gateway.start()
      let held = 0
      for (; held < 100 && gateway.dispatcher.admits(); held += 1) gateway.take(...claimsAt(0, `e${held}`))
      expect(held).toBe(12)
      await quiet()
      expect(gateway.calls).toHaveLength(3)
      await gateway.calls[0]?.succeed()
      expect(gateway.dispatcher.admits()).toBe(true)
    })

    it('of tasks whose inserts are under way, until they are stored or not', async () => {
      await using gateway = setUp({ batchSize: 1, concurrency: 1 })
      await gateway.start()
      const { dispatcher } = gateway
      expect(Array.from({ length: 5 }, () => dispatcher.admits())).toEqual([true, true, true, true, false])
      dispatcher.miss()
      expect([dispatcher.admits(), dispatcher.admits()]).toEqual([true, false])
    })

    it('of tasks that its rate lets it send before half of their time is over', async () => {
      const allowance = createAllowance({ ratePerSecond: 2, isPaused: () => false, now: () => 0 })
      await using gateway = setUp({ batchSize: 50, concurrency: 8, allowance })
      gateway.due.push(...claimsAt(0, ...many(400)))
      await gateway.start()
      expect(400 - gateway.due.length).toBe(LEASE_MS / 1_000)
    })

    it('of tasks that are due, and sends all of them in the end', async () => {
      await using gateway = setUp({ batchSize: 2, concurrency: 3 })
      gateway.due.push(...claimsAt(0, ...many(40)))
      await gateway.start()
      expect(gateway.due).toHaveLength(28)
      for (let answered = 0; answered < gateway.calls.length; answered += 1) {
        await gateway.calls[answered]?.succeed()
        const held = 40 - gateway.due.length - gateway.settled.length
        expect(held).toBeLessThanOrEqual(12)
      }
      expect(gateway.settled).toEqual(many(40))
      expect(gateway.released).toEqual([])
    })
  })

  it('claims several due tasks at a time, though it sends them singly', async () => {
    await using gateway = setUp({ batchSize: 1, concurrency: 4 })
    gateway.due.push(...claimsAt(0, ...many(80)))
    await gateway.start()
    for (const call of gateway.calls) await call.succeed()
    expect(gateway.settled).toEqual(many(80))
    expect(Math.min(...gateway.limits)).toBeGreaterThanOrEqual(8)
  })

  it('claims no new tasks while older ones are due, and sends a backlog gently: half of the calls, smaller ones', async () => {
    await using gateway = setUp({ batchSize: 500, concurrency: 4 })
    gateway.due.push(...claimsAt(0, ...many(4_100)))
    await gateway.start()
    expect(gateway.calls.map(({ ids }) => ids.length)).toEqual([125, 125])
    expect(gateway.dispatcher.admits()).toBe(false)
    for (let answered = 0; answered < gateway.calls.length; answered += 1) await gateway.calls[answered]?.succeed()
    expect(gateway.settled).toHaveLength(4_100)
    const before = gateway.calls.length
    expect(gateway.dispatcher.admits()).toBe(true)
    gateway.take(...claimsAt(0, ...many(500, 'new ')))
    await quiet()
    expect(gateway.calls.slice(before).map(({ ids }) => ids.length)).toEqual([500])
  })

  it('sends a backlog with all of its calls once it has grown by more than a batch', async () => {
    await using gateway = setUp({ batchSize: 2, concurrency: 4 })
    gateway.due.push(...claimsAt(0, ...many(20)))
    await gateway.start()
    for (let arrived = 0; arrived < 3; arrived += 1) expect(gateway.dispatcher.admits()).toBe(false)
    await gateway.look()
    expect(gateway.calls).toHaveLength(4)
  })

  it('gives back what cannot be sent in time: its claim ends before the call may end', async () => {
    await using gateway = setUp()
    await gateway.start()
    gateway.take(...claimsAt(0, 'a', 'b', 'c', 'd'), ...claimsAt(1, 'e'))
    await quiet()
    gateway.clocks.database = LEASE_MS
    await gateway.calls[0]?.succeed()
    expect([gateway.sent(), gateway.released]).toEqual([[['a'], ['b']], []])
    gateway.clocks.database = LEASE_MS + 1
    await gateway.calls[1]?.succeed()
    expect([gateway.sent(), gateway.released]).toEqual([
      [['a'], ['b'], ['e']],
      ['c', 'd'],
    ])
    expect(gateway.settled).toEqual(['a', 'b'])
  })

  it('gives everything back when its handler is paused, and claims nothing until it is resumed', async () => {
    await using gateway = setUp()
    await gateway.start()
    gateway.take(...claimsAt(0, 'a', 'b', 'c'))
    await quiet()
    gateway.pause(true)
    gateway.due.push(...claimsAt(0, 'd'))
    await gateway.look()
    expect(gateway.released).toEqual(['b', 'c'])
    expect([gateway.dispatcher.admits(), gateway.dispatcher.mayTrySuspects(), gateway.due.length]).toEqual([
      ...[false, false, 1],
    ])
    await gateway.calls[0]?.succeed()
    gateway.pause(false)
    await gateway.look()
    expect(gateway.sent()).toEqual([['a'], ['d']])
  })

  it('gives back what the database did not yield, and nothing counts for or against the handler', async () => {
    await using gateway = setUp({ concurrency: 2 })
    await gateway.start()
    gateway.take(...claimsAt(0, 'a'))
    await quiet()
    await gateway.calls[0]?.missAll()
    await expect.poll(() => gateway.released).toEqual(['a'])
    expect(gateway.dispatcher.isUp).toBe(true)
    expect(gateway.settled).toEqual([])
    expect(gateway.lines).toMatchObject([{ msg: 'dispatch.database-failed', events: 1 }])
  })

  describe('when its handler does not answer', () => {
    /** A dispatcher whose first call has failed. Its breaker allows the next one after 125 ms. */
    async function setUpDown() {
      await using resources = new AsyncDisposableStack()
      const gateway = resources.use(setUp({ batchSize: 2, concurrency: 2 }))
      await gateway.start()
      gateway.take(...claimsAt(0, 'a', 'b', 'c', 'd', 'e', 'f'))
      await quiet()
      await gateway.calls[0]?.fail()
      const owned = resources.move()
      return { ...gateway, [Symbol.asyncDispose]: () => owned.disposeAsync() }
    }

    it('gives back what it has not sent, and claims nothing on insert', async () => {
      await using gateway = await setUpDown()
      expect(gateway.sent()).toEqual([
        ['a', 'b'],
        ['c', 'd'],
      ])
      expect([gateway.released, gateway.settled]).toEqual([
        ['e', 'f'],
        ['a', 'b'],
      ])
      expect([gateway.dispatcher.isUp, gateway.dispatcher.admits()]).toEqual([false, false])
    })

    it('sends one task at a time as a probe, until one is answered', async () => {
      await using gateway = await setUpDown()
      await gateway.calls[1]?.fail()
      gateway.due.push(...claimsAt(0, ...many(9)))
      await gateway.look()
      expect(gateway.calls, 'none before it is time').toHaveLength(2)
      gateway.clocks.now = 1_000
      for (let poll = 0; poll < 3; poll += 1) {
        await gateway.look()
      }
      expect(gateway.sent().slice(2)).toEqual([['e0']])
      await gateway.calls[2]?.succeed()
      expect(gateway.dispatcher.isUp).toBe(true)
      expect(gateway.sent()[3]).toEqual(['e1', 'e2'])
    })

    it('takes a suspect as a probe only if nothing else is due, and one at a time', async () => {
      await using gateway = await setUpDown()
      await gateway.calls[1]?.fail()
      gateway.clocks.now = 1_000
      expect(gateway.dispatcher.mayTrySuspects(), 'before it has looked for those that it gave back').toBe(false)
      gateway.due.push(...claimsAt(0, 'due'))
      await gateway.look()
      expect(gateway.dispatcher.mayTrySuspects(), 'while the probe is in progress').toBe(false)
      await gateway.calls[2]?.fail()
      gateway.clocks.now = 9_000
      expect(gateway.dispatcher.mayTrySuspects(), 'before it has looked again').toBe(false)
      await gateway.look()
      expect(gateway.dispatcher.mayTrySuspects()).toBe(true)
      gateway.suspects.push(claimsAt(0, 'x', 'y'))
      const tried = gateway.dispatcher.trySuspects()
      gateway.due.push(...claimsAt(0, 'later'))
      await gateway.look()
      expect([gateway.sent()[3], gateway.calls.length, gateway.due.length]).toEqual([['x'], 4, 1])
      await gateway.calls[3]?.succeed()
      expect(await tried).toBe(true)
      expect(gateway.asked).toEqual([[null, 1]])
    })
  })

  it('takes no suspects after a call that failed until another succeeds: who caused it is not known before', async () => {
    await using gateway = setUp({ concurrency: 4 })
    await gateway.start()
    gateway.take(...claimsAt(0, 'a', 'b', 'c'))
    await quiet()
    await gateway.calls[0]?.succeed()
    expect(gateway.dispatcher.mayTrySuspects()).toBe(true)
    await gateway.calls[1]?.fail()
    expect([gateway.dispatcher.isUp, gateway.dispatcher.mayTrySuspects()]).toEqual([true, false])
    await gateway.calls[2]?.succeed()
    expect(gateway.dispatcher.mayTrySuspects()).toBe(true)
  })

  it('suspects the task of a call that broke, and not those of the next ones until one is answered', async () => {
    const suspects: unknown[] = []
    const onSettled = ({ claim, settlement }: SettledClaim): void => {
      if (settlement.state === 'pending') suspects.push([claim.eventId, settlement.broke])
    }
    await using gateway = setUp({ onSettled })
    await gateway.start()
    gateway.take(...claimsAt(0, 'a', 'b', 'c', 'd', 'e'))
    await quiet()
    await gateway.calls[0]?.succeed()
    await gateway.calls[1]?.fail()
    await gateway.calls[2]?.fail()
    gateway.clocks.now = 1_000
    gateway.due.push(...claimsAt(0, 'd', 'e'))
    await gateway.look()
    await gateway.calls[3]?.succeed()
    await gateway.calls[4]?.fail()
    expect(gateway.sent()).toEqual([['a'], ['b'], ['c'], ['d'], ['e']])
    expect(suspects).toEqual([
      ['b', new Date(0)],
      ['c', false],
      ['e', new Date(0)],
    ])
  })

  describe('with suspects', () => {
    it('asks for them with the time of the last verdict, and says whether there were any', async () => {
      await using gateway = setUp({ batchSize: 5, concurrency: 2 })
      await gateway.start()
      expect(await gateway.dispatcher.trySuspects()).toBe(false)
      gateway.clocks.database = 700
      gateway.take(...claimsAt(0, 'a'))
      await quiet()
      await gateway.calls[0]?.succeed()
      expect(await gateway.dispatcher.trySuspects()).toBe(false)
      expect(gateway.asked).toEqual([
        [null, 6],
        [700, 6],
      ])
    })

    it('sends half a batch in a call, all calls at once, and resolves when all are settled', async () => {
      await using gateway = setUp({ batchSize: 3, concurrency: 2 })
      await gateway.start()
      gateway.suspects.push(claimsAt(0, ...many(6)))
      const tried = gateway.dispatcher.trySuspects()
      await quiet()
      expect(gateway.sent()).toEqual([
        ['e0', 'e1'],
        ['e2', 'e3'],
      ])
      await gateway.calls[0]?.succeed()
      await gateway.calls[1]?.succeed()
      expect(await tried).toBe(true)
      expect(gateway.settled).toEqual(many(4))
    })

    it('takes no more than its calls and its rate have room for, and the next call that ends makes room', async () => {
      const allowance = createAllowance({ ratePerSecond: 3, isPaused: () => false, now: () => 0 })
      await using gateway = setUp({ concurrency: 2, allowance })
      await gateway.start()
      gateway.take(...claimsAt(0, 'a', 'b', 'c'))
      await quiet()
      expect(gateway.dispatcher.mayTrySuspects()).toBe(false)
      await gateway.calls[0]?.succeed()
      expect(gateway.sent()).toEqual([['a'], ['b']])
      expect(gateway.dispatcher.mayTrySuspects()).toBe(true)
      expect(await gateway.dispatcher.trySuspects()).toBe(false)
      expect(gateway.asked).toEqual([[null, 1]].map(([, limit]) => [expect.anything(), limit]))
      await quiet()
      expect(gateway.sent(), 'there were no suspects').toEqual([['a'], ['b'], ['c']])
    })
  })

  describe('stop', () => {
    /** Holds the timers. Dispose of it before the dispatcher, which needs them for its end. */
    function holdTimers(): Disposable {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
      return { [Symbol.dispose]: () => void vi.useRealTimers() }
    }

    it.each([
      ['a short time', undefined, 2_500],
      ['the time that it was given', HOUR_MS, HOUR_MS],
    ])('releases what waits at once, and holds the tasks of an open call for %s', async (_, graceMs, heldMs) => {
      await using gateway = setUp()
      using _timers = holdTimers()
      await gateway.start()
      gateway.take(...claimsAt(0, 'a', 'b'))
      await quiet()
      const stopped = gateway.dispatcher.stop(graceMs)
      expect(gateway.dispatcher.admits()).toBe(false)
      await vi.advanceTimersByTimeAsync(heldMs - 1)
      expect(gateway.released).toEqual(['b'])
      await vi.advanceTimersByTimeAsync(1)
      await stopped
      expect([gateway.released, gateway.sent()]).toEqual([['b', 'a'], [['a']]])
    })
  })
})
