import { describe, expect, it } from 'vitest'
import { CheckTurns } from './check-turns.ts'

const now = (): number => performance.now()

describe('CheckTurns', () => {
  it('gives each its turn, in order, and lets the event loop go round between them', async () => {
    const turns = new CheckTurns(now)
    const seen: string[] = []
    const goRound = (): void => {
      seen.push('others')
      going = setImmediate(goRound)
    }
    let going = setImmediate(goRound)
    await Promise.all(['first', 'second', 'third'].map((name) => turns.next().then(() => seen.push(name))))
    clearImmediate(going)
    const order = seen.filter((name, at) => name !== 'others' || seen[at - 1] !== 'others')
    expect(order).toEqual(['others', 'first', 'others', 'second', 'others', 'third'])
  })

  it('rests after a check in vain, and not after any other', async () => {
    const turns = new CheckTurns(now)
    await turns.next()
    const [first, second] = [turns.next(), turns.next()]
    const startedAt = now()
    turns.rest(40)
    await first
    expect(now() - startedAt).toBeGreaterThanOrEqual(39)
    await second
    const third = turns.next()
    let isTurn = false
    void third.then(() => {
      isTurn = true
    })
    await goRoundThrice()
    expect(isTurn).toBe(true)
  })

  it('waits after a check in vain until cheap deliveries are answered, and not without one', async () => {
    const turns = new CheckTurns(now)
    turns.enter()
    await turns.next()
    turns.rest(0)
    const order: string[] = []
    const waiting = turns.next().then(() => order.push('turn'))
    await goRoundThrice()
    order.push('answered')
    turns.leave()
    await waiting
    expect(order).toEqual(['answered', 'turn'])
  })

  it('waits for no more than a moment: under load there is always a cheap one', async () => {
    const turns = new CheckTurns(now)
    turns.enter()
    turns.rest(0)
    await turns.next()
    await turns.next()
    turns.leave()
  })
})

function goRoundThrice(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(() => setImmediate(resolve))))
}
