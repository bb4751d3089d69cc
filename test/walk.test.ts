import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { paymentOf, startStack } from './support/stack/stack.ts'
import { until } from './support/until.ts'
import { countWalk, type Entry } from './support/walk/count-walk.ts'

const repository = resolve(import.meta.dirname, '..')

const MAX_FILES = 14
const MAX_LINES = 1_650
const MAX_MOVES = 30
const MAX_RETURNS = 12

describe('the way of a webhook, from the socket to the 200', () => {
  const way = wayOfAWebhook()

  it('leads through few files of few lines', () => {
    expect(way.length).toBeGreaterThan(10)
    expect(way.length).toBeLessThanOrEqual(MAX_FILES)
    const lines = way.map((file) => readFileSync(join(repository, file), 'utf8').trimEnd().split('\n').length)
    expect(lines.reduce((sum, count) => sum + count)).toBeLessThanOrEqual(MAX_LINES)
  })

  it('is the one that a Stripe delivery takes, with few moves and few returns', async () => {
    await using stack = await startStack({ gatewayScript: join(import.meta.dirname, 'support/walk/walked-gateway.ts') })
    const stripe = stack.provider('stripe')
    const event = paymentOf(await stack.orders.create())
    expect(await stripe.deliver(stripe.write(event))).toMatchObject({ status: 200 })
    const walked = await until(
      () => stack.gateway.lines.find(({ msg }) => msg === 'delivery.walked'),
      (line) => line !== undefined,
    )
    const { files, moves, returns } = countWalk(walked?.entries as Entry[], new Set(way))
    expect(files).toEqual(way)
    expect(moves).toBeLessThanOrEqual(MAX_MOVES)
    expect(returns).toBeLessThanOrEqual(MAX_RETURNS)
  })
})

/** The files that the README of the gateway names as the steps of a webhook, without the dispatch after the answer. */
function wayOfAWebhook(): string[] {
  const readme = readFileSync(join(repository, 'packages/gateway/README.md'), 'utf8')
  const steps = [...readme.matchAll(/^\| (?:\d+| ) \| (`.+?) \| .+ \|$/gm)].map(([, named = '']) => named)
  const named = steps.flatMap((step) => Array.from(step.matchAll(/`([^`]+\.ts)`/g), ([, file = '']) => file))
  return [...new Set(named)].filter((file) => !file.startsWith('queue/dispatch/')).map(sourceOf)
}

/** The file that a path in a README names. The path begins inside a package, or with the name of the package. */
function sourceOf(named: string): string {
  const places = ['packages/gateway/src', 'packages/webhooks/src']
  const [first = '', ...rest] = named.split('/')
  const possible = [`packages/${first}/src/${rest.join('/')}`, ...places.map((place) => `${place}/${named}`)]
  const [file, ...others] = possible.filter((one) => existsSync(join(repository, one)))
  if (file === undefined || others.length > 0) throw new Error(`${named} is not one file`)
  return file
}
