import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { CheckTurns } from './check-turns.ts'

const now = (): number => performance.now()

/** Waits for a turn; `signal` ends the wait. */
function turnOf(turns: CheckTurns, { isKnown = false, signal = new AbortController().signal } = {}): Promise<void> {
  return turns.next({ isKnown, signal })
}

describe('CheckTurns', () => {
  it('gives each its turn, in order, and lets the event loop go round between them', async () => {
    const turns = new CheckTurns(now)
    const seen: string[] = []
    const goRound = (): void => {
      seen.push('others')
      going = setImmediate(goRound)
    }
    let going = setImmediate(goRound)
    await Promise.all(['first', 'second', 'third'].map((name) => turnOf(turns).then(() => seen.push(name))))
    clearImmediate(going)
    const order = seen.filter((name, at) => name !== 'others' || seen[at - 1] !== 'others')
    expect(order).toEqual(['others', 'first', 'others', 'second', 'others', 'third'])
  })

  it('rests after a failed check, and not after any other', async () => {
    let ahead = 0
    const turns = new CheckTurns(() => now() + ahead)
    await turnOf(turns)
    const [first, second] = [turnOf(turns), turnOf(turns)]
    const startedAt = now()
    turns.rest(40)
    await first
    expect(now() - startedAt).toBeGreaterThanOrEqual(30)
    await second
    ahead = 60_000
    const third = turnOf(turns)
    let isTurn = false
    void third.then(() => {
      isTurn = true
    })
    await goRoundThrice()
    expect(isTurn).toBe(true)
  })

  it('waits after a failed check until cheap deliveries are answered, and not without one', async () => {
    // Neither the flood nor the patience ends meanwhile, however slow the machine is.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const turns = new CheckTurns(() => 0)
    turns.enter()
    await turnOf(turns)
    turns.rest(0)
    const order: string[] = []
    const waiting = turnOf(turns).then(() => order.push('turn'))
    await goRoundThrice()
    order.push('answered')
    turns.leave()
    await waiting
    expect(order).toEqual(['answered', 'turn'])
  })

  it('waits only for a moment: under load there is always a cheap one', async () => {
    const turns = new CheckTurns(now)
    turns.enter()
    turns.rest(0)
    await turnOf(turns)
    await turnOf(turns)
    turns.leave()
  })

  it('gives known addresses priority; strangers get one turn of four', async () => {
    const turns = new CheckTurns(now)
    const order: string[] = []
    const wait = (name: string, isKnown: boolean) => turnOf(turns, { isKnown }).then(() => order.push(name))
    await Promise.all([
      ...['s1', 's2', 's3'].map((name) => wait(name, false)),
      ...['k1', 'k2', 'k3', 'k4', 'k5'].map((name) => wait(name, true)),
    ])
    expect(order).toEqual(['k1', 'k2', 'k3', 's1', 'k4', 'k5', 's2', 's3'])
  })

  it('does not let known addresses wait for cheap deliveries, even while a stranger waits', async () => {
    // The flood continues for as long as the test does.
    const turns = new CheckTurns(() => 0)
    turns.enter()
    turns.rest(0)
    const order: string[] = []
    const strangers = Array.from({ length: 20 }, () => turnOf(turns).then(() => order.push('stranger')))
    await goRoundThrice()
    const known = ['first', 'second'].map((name) => turnOf(turns, { isKnown: true }).then(() => order.push(name)))
    await Promise.all(known)
    expect(order.filter((name) => name !== 'stranger')).toEqual(['first', 'second'])
    expect(order.length).toBeLessThan(20)
    turns.leave()
    await Promise.all(strangers)
  })

  it('gives no turn to one that has left, and its turn to the next', async () => {
    const turns = new CheckTurns(now)
    const leaving = new AbortController()
    const reason = new Error('It gave way')
    const waiting = turnOf(turns, { signal: leaving.signal })
    const next = turnOf(turns)
    leaving.abort(reason)
    await expect(waiting).rejects.toBe(reason)
    await next
    const last = new AbortController()
    const alone = turnOf(turns, { signal: last.signal })
    last.abort(reason)
    await expect(alone).rejects.toBe(reason)
    await turnOf(turns)
  })
})

function goRoundThrice(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(() => setImmediate(resolve))))
}
