import { unavailable } from '@oncehook/kernel/http/error-codes'
import type { Claim } from '@oncehook/queue/claim/claim'
import type { Document } from 'mongodb'
import { MongoNetworkError } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { sampleClaim } from '../testing/sample-claim.ts'
import { type SendTasksDeps, sendTasks } from './send-tasks.ts'
import type { CallHandler, TaskAnswer, TaskEvent, TaskRefusal } from './task-event.ts'

const limits = { baseMs: 1_000, capMs: 60_000, maxAgeMs: 100_000, ofCodes: new Map() }

const LONG = { ...limits, capMs: 900_000, maxAgeMs: 1_000_000 }

function claimOf(id: string, members: Partial<Claim> = {}, record: Document = {}): Claim {
  return sampleClaim(id, { handler: 'billing', ...members }, record)
}

interface Options {
  readonly call: CallHandler
  /** What reading an event yields, by its id. Default: a small task. */
  readonly read?: (id: string) => TaskEvent | TaskRefusal
  readonly random?: () => number
}

function depsOf({ call, read = taskOf, random = () => 0.5 }: Options): SendTasksDeps {
  return {
    async *read(claims) {
      for (const claim of claims) yield { claim, read: read(claim.eventId) }
    },
    ...{ call, limits, random, callMs: 10_000, databaseNow: () => 0, isBatched: true, sendsTests: false },
  }
}

function taskOf(id: string): TaskEvent {
  return { key: id, attempt: 1, json: `{"key":"${id}"}` }
}

/** What becomes of a task that failed for the first time. */
function waits(code: string, delayMs: number): object {
  return { state: 'pending', delayMs, waited: delayMs, waitedFor: { code, ms: delayMs } }
}

const DONE: TaskAnswer = { done: true }
const later: TaskAnswer = { refused: 'handler_busy', retry: 'later', message: 'later' }

describe('sendTasks', () => {
  it('settles each task by its own answer', async () => {
    const answers: Record<string, TaskAnswer> = {
      ...{ a: DONE, b: later },
      c: { refused: 'handler_refused', retry: 'never', message: 'never' },
    }
    const call: CallHandler = async (tasks) => tasks.map(({ key }) => answers[key] ?? DONE)
    const { settled, ...rest } = await sendTasks(
      depsOf({ call }),
      ['a', 'b', 'c'].map((id) => claimOf(id)),
    )
    expect(rest).toEqual({ hasVerdict: true, failure: null, late: [], unread: null })
    expect(settled.map(({ settlement }) => settlement)).toEqual([
      { state: 'done', outcome: { kind: 'done', version: null } },
      waits('handler_busy', 500),
      { state: 'dead', reason: 'handler_refused' },
    ])
    expect(settled.map(({ attempt }) => attempt.code)).toEqual([null, 'handler_busy', 'handler_refused'])
  })

  it('waits as long as the handler asks and a little more, but never longer than the longest delay', async () => {
    const delayAfter = async (afterMs: number, failures = 0) => {
      const call: CallHandler = async () => [{ ...later, afterMs }]
      const { settled } = await sendTasks(depsOf({ call }), [claimOf('a', { failures })])
      return settled[0]?.settlement
    }
    expect(await delayAfter(7_000)).toEqual(waits('handler_busy', 7_750))
    expect(await delayAfter(40_000)).toEqual(waits('handler_busy', 43_000))
    expect(await delayAfter(10_000_000)).toEqual(waits('handler_busy', 60_000))
  })

  const tried = async (answer: TaskAnswer, failures: number, random: number) => {
    const deps = depsOf({ call: async () => [answer], random: () => random })
    const { settled, failure } = await sendTasks({ ...deps, limits: LONG }, [claimOf('a', { failures })])
    const settlement = [...settled, ...(failure?.putOff ?? [])][0]?.settlement
    return settlement?.state === 'pending' ? settlement.delayMs : settlement
  }

  it.each([
    ['`now`', { refused: 'race', retry: 'now', message: 'now' } as const],
    ['`Retry-After: 0`', { ...later, afterMs: 0 }],
    ['a shorter time', { ...later, afterMs: 5_000 }],
    ['a shorter time, because it is busy', { ...later, afterMs: 5_000, isBusy: true } as const],
  ])('waits longer after each failure, up to a minute, even if the handler asks for %s', async (_, answer) => {
    const waits = async (failures: number) => {
      const delays = [await tried(answer, failures, 0), await tried(answer, failures, 0.999)]
      return delays.map((ms) => Math.round(Number(ms) / 1_000))
    }
    expect(await waits(8)).toEqual([13, 26])
    for (const failures of [10, 1_000]) expect(await waits(failures)).toEqual([30, 60])
  })

  it('puts all tasks of a call off if the handler cannot be reached, and blames none', async () => {
    const call: CallHandler = () => Promise.reject(unavailable({ reason: 'not_reached' }))
    const { settled, hasVerdict, failure } = await sendTasks(depsOf({ call }), [claimOf('a'), claimOf('b')])
    expect({ settled, hasVerdict }).toEqual({ settled: [], hasVerdict: false })
    const putOff = { ...waits('unavailable', 500), broke: false }
    expect(failure?.putOff.map(({ settlement }) => settlement)).toEqual([putOff, putOff])
  })

  it.each([
    ['there is no answer in time', unavailable({ reason: 'timed_out' })],
    ['a call breaks', unavailable({}, { cause: Object.assign(new Error('reset'), { code: 'ECONNRESET' }) })],
  ])('makes suspects of several tasks if %s. A single one has failed like any other', async (_, error) => {
    const brokeOf = async (...ids: string[]) => {
      const claims = ids.map((id) => claimOf(id))
      const { failure } = await sendTasks(depsOf({ call: () => Promise.reject(error) }), claims)
      expect(failure?.error).toBe(error)
      return failure?.putOff.map(({ settlement }) => settlement.state === 'pending' && settlement.broke)
    }
    expect(await brokeOf('a', 'b')).toEqual([new Date(0), new Date(0)])
    expect(await brokeOf('a')).toEqual([undefined])
  })

  it('makes a single task that was lost a suspect again if its call breaks, where calls have several tasks', async () => {
    const deps = depsOf({ call: () => Promise.reject(unavailable({ reason: 'timed_out' })) })
    const brokeOf = async (isBatched: boolean) => {
      const { failure } = await sendTasks({ ...deps, isBatched }, [claimOf('a', { lost: 1 })])
      return failure?.putOff.map(({ settlement }) => settlement.state === 'pending' && settlement.broke)
    }
    expect(await brokeOf(true)).toEqual([new Date(0)])
    expect(await brokeOf(false)).toEqual([undefined])
  })

  it('sends nothing whose claim may end before the answer, because earlier calls took long', async () => {
    const clock = { now: 0 }
    const read = (id: string) => ({ key: id, attempt: 1, json: `"${'x'.repeat(1_500_000)}"` })
    const call: CallHandler = async (tasks) => {
      clock.now += 8_000
      return tasks.map(() => DONE)
    }
    const deps = { ...depsOf({ call, read }), databaseNow: () => clock.now }
    const claims = ['a', 'b', 'c'].map((id) => claimOf(id, { endsAt: 20_000 }))
    const { settled, late, failure } = await sendTasks(deps, claims)
    expect(settled.map(({ claim }) => claim.eventId)).toEqual(['a', 'b'])
    expect(late.map(({ eventId }) => eventId)).toEqual(['c'])
    expect(failure).toBeNull()
  })

  it('fails as a whole if the handler was too busy for every call, and blames no task', async () => {
    const busy: TaskAnswer = { ...later, afterMs: 7_000, isBusy: true }
    const call: CallHandler = async (tasks) => tasks.map(({ key }) => (key === 'done' ? DONE : busy))
    const { settled, hasVerdict, failure } = await sendTasks(depsOf({ call }), [claimOf('a'), claimOf('b')])
    expect({ settled, hasVerdict, code: failure?.error.code }).toEqual({
      ...{ settled: [], hasVerdict: false, code: 'unavailable' },
    })
    const putOff = { settlement: waits('handler_busy', 7_750), attempt: { code: 'handler_busy' } }
    expect(failure?.putOff).toMatchObject([putOff, putOff])
    const mixed = await sendTasks(depsOf({ call }), [claimOf('a'), claimOf('done')])
    expect(mixed).toMatchObject({ hasVerdict: true, failure: null })
    expect(mixed.settled.map(({ settlement }) => settlement.state).toSorted()).toEqual(['done', 'pending'])
  })

  it('keeps the answers of an earlier call if a later one fails', async () => {
    const big = (id: string): TaskEvent => ({
      ...taskOf(id),
      json: `{"key":"${id}","body":"${'x'.repeat(1_500_000)}"}`,
    })
    const calls: string[][] = []
    const call: CallHandler = async (tasks) => {
      calls.push(tasks.map(({ key }) => key))
      if (calls.length === 2) throw unavailable({})
      return tasks.map(() => DONE)
    }
    const { settled, hasVerdict, failure } = await sendTasks(depsOf({ call, read: big }), [claimOf('a'), claimOf('b')])
    expect(hasVerdict).toBe(true)
    expect(calls).toEqual([['a'], ['b']])
    expect(settled.map(({ claim }) => claim.eventId)).toEqual(['a'])
    expect(failure?.putOff.map(({ claim }) => claim.eventId)).toEqual(['b'])
  })

  it.each([
    ['The handler gave no answer in time', unavailable({ reason: 'timed_out' })],
    ['The handler could not be reached', unavailable({ reason: 'not_reached' })],
    ['Every secret of the handler has expired', unavailable({ reason: 'secrets_expired' })],
    ['The host name of the handler leads to a private address', unavailable({ reason: 'private_address' })],
    ['The handler answered 401', unavailable({ reason: 'refused', status: 401 })],
    ['The gateway could not make the call', new Error('EMFILE')],
  ])('stores why a call failed: %s', async (message, error) => {
    const { failure } = await sendTasks(depsOf({ call: () => Promise.reject(error) }), [claimOf('a')])
    expect(failure?.putOff).toMatchObject([{ attempt: { message } }])
  })

  describe('if the database does not yield a task', () => {
    const readUntilB = (id: string) => {
      if (id === 'b') throw new MongoNetworkError('canary')
      return taskOf(id)
    }

    const idsOf = (claims: readonly Claim[] = []) => claims.map(({ eventId }) => eventId)

    it('says what was not read, sends what was, and counts no failure', async () => {
      const sent: string[] = []
      const call: CallHandler = async (tasks) => {
        sent.push(...tasks.map(({ key }) => key))
        return tasks.map(() => DONE)
      }
      const deps = depsOf({ call, read: readUntilB })
      const { unread, ...rest } = await sendTasks(
        deps,
        ['a', 'b', 'c'].map((id) => claimOf(id)),
      )
      expect({ sent, unread: idsOf(unread?.claims) }).toEqual({ sent: ['a'], unread: ['b', 'c'] })
      expect(unread?.error).toBeInstanceOf(MongoNetworkError)
      expect(rest).toMatchObject({ settled: [{ settlement: { state: 'done' } }], hasVerdict: true, failure: null })
      const none = await sendTasks(deps, [claimOf('b')])
      expect(none).toMatchObject({ settled: [], hasVerdict: false, failure: null })
      expect(idsOf(none.unread?.claims)).toEqual(['b'])
    })
  })

  it('sends no task whose body cannot be read, and no test event', async () => {
    const called: string[] = []
    const call: CallHandler = async (tasks) => {
      called.push(...tasks.map(({ key }) => key))
      return tasks.map(() => DONE)
    }
    const gone: TaskRefusal = { refused: 'body_missing', retry: 'never', message: 'gone' }
    const read = (id: string) => (id === 'gone' ? gone : taskOf(id))
    const claims = [claimOf('gone'), claimOf('test', {}, { test: true }), claimOf('a')]
    const { settled } = await sendTasks(depsOf({ call, read }), claims)
    expect(called).toEqual(['a'])
    const results = settled.map(({ claim, settlement }) => [claim.eventId, settlement.state])
    expect(Object.fromEntries(results)).toEqual({ gone: 'dead', test: 'unhandled', a: 'done' })
  })
})
