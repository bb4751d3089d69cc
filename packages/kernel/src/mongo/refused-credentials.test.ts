import { MongoNetworkError, MongoServerError } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { RefusedCredentials, watchCredentials } from './refused-credentials.ts'

const refusal = (code = 18) => new MongoServerError({ message: 'canary', code })
const outage = new MongoNetworkError('closed')

describe('RefusedCredentials', () => {
  it.each([13, 18])('says after ten seconds of code %s that it is final', (code) => {
    let now = 5_000
    const refused = new RefusedCredentials(() => now)
    expect(refused.isFinal(refusal(code))).toBe(false)
    now += 9_999
    expect(refused.isFinal(refusal(code))).toBe(false)
    now += 1
    expect(refused.isFinal(refusal(code))).toBe(true)
  })

  it('counts a refusal that is the cause of another error, and no other error', () => {
    let now = 0
    const refused = new RefusedCredentials(() => now)
    const others = [outage, refusal(11_600), new Error('x'), null]
    for (const other of others) expect(refused.isFinal(other)).toBe(false)
    now += 10_000
    expect(refused.isFinal(new MongoNetworkError('cleared', { cause: refusal() }))).toBe(false)
    now += 10_000
    for (const other of others) expect(refused.isFinal(other)).toBe(false)
    expect(refused.isFinal(new MongoNetworkError('cleared', { cause: refusal() }))).toBe(true)
  })
})

/** A watch whose clock moves only while it sleeps, and the outcomes of its questions: an error, or success. */
function setUp(outcomes: readonly unknown[]) {
  const ended: unknown[] = []
  const quiet = Promise.withResolvers<void>()
  let [now, asked, isStopping] = [0, 0, false]
  const note = watchCredentials({
    async ask() {
      const outcome = outcomes[asked]
      asked += 1
      if (asked === outcomes.length) quiet.resolve()
      if (outcome !== undefined) throw outcome
    },
    onRefused(error) {
      ended.push({ error, now })
      quiet.resolve()
    },
    isStopping: () => isStopping,
    now: () => now,
    async sleep(ms) {
      now += ms
    },
  })
  const stop = (): void => {
    isStopping = true
    quiet.resolve()
  }
  return { note, ended, quiet: quiet.promise, stop, asked: () => asked }
}

describe('watchCredentials', () => {
  it('ends once the database has refused everything for ten seconds', async () => {
    const { note, ended, quiet } = setUp(Array.from({ length: 30 }, () => refusal()))
    note(refusal())
    note(refusal())
    await quiet
    expect(ended).toMatchObject([{ error: { code: 18 }, now: 10_000 }])
  })

  it('begins anew after a command that succeeds', async () => {
    const { note, ended, quiet, asked } = setUp([...Array.from({ length: 9 }, () => refusal()), undefined])
    note(refusal())
    await quiet
    await expect.poll(asked).toBe(10)
    expect(ended).toEqual([])
  })

  it('goes on asking during an outage, which refuses nothing', async () => {
    const outcomes = [...Array.from({ length: 20 }, () => outage), refusal()]
    const { note, ended, quiet } = setUp(outcomes)
    note(refusal())
    await quiet
    await expect.poll(() => ended).toMatchObject([{ now: 21_000 }])
  })

  it('asks nothing because of other errors, or while the service stops', async () => {
    const { note, ended, stop, asked } = setUp([refusal()])
    note(outage)
    stop()
    note(refusal())
    await Promise.resolve()
    expect([asked(), ended]).toEqual([0, []])
  })
})
