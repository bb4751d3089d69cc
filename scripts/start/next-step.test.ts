import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { openDataFolder } from './data-folder.ts'
import { makeDevelopmentSecrets } from './development-secrets.ts'
import { describeNextStep } from './next-step.ts'
import { toProvidersFile } from './service-environments.ts'

const folder = mkdtempSync(join(tmpdir(), 'oncehook-next-'))
afterAll(() => rmSync(folder, { recursive: true }))
const address = (port: number) => ({ host: '127.0.0.1', port, url: `http://127.0.0.1:${port}` })
const secrets = makeDevelopmentSecrets(randomBytes)
const made = toProvidersFile(secrets)
const SECRET = 'whsec_0123456789abcdef'
const PAID = ['Paste this line into', '', 'npm run oncehook -- send']

/** What is said next. `file` replaces the providers that the first start made. */
async function next(env: NodeJS.ProcessEnv, file: object = made): Promise<string[]> {
  const data = openDataFolder(folder, {})
  writeFileSync(data.providers, JSON.stringify(file))
  const addresses = { gateway: address(1), admin: address(2), fulfilment: address(3) }
  const lines = await describeNextStep({ env, secrets, data, addresses, mongoUri: 'mongodb://127.0.0.1:1/' })
  expect(lines.join('\n')).not.toContain(SECRET)
  return [...lines]
}

const stripe = (value: unknown) => ({ scheme: 'stripe', testMode: true, expect: {}, secrets: [{ id: '1', value }] })

describe('the line to paste after npm start', () => {
  it('pays through the first provider of the first start', async () => {
    const [how, , line] = await next({})
    expect(how).toBe('Paste this line into another terminal: it makes an order and delivers its signed payment')
    expect(line).toMatch(/^npm run oncehook -- send --ensure-order ord_(\w{8}) --event-id evt_\1$/)
  })

  it.each<[string, NodeJS.ProcessEnv, object, RegExp, RegExp]>([
    [
      'own PROVIDERS',
      { PROVIDERS: JSON.stringify({ psp: stripe(SECRET) }) },
      made,
      /terminal where PROVIDERS is set as here: /,
      / send --provider psp --ensure/,
    ],
    [
      'own PROVIDERS with a secret in a variable',
      { PROVIDERS: JSON.stringify({ psp: stripe({ env: 'MINE' }) }), MINE: SECRET },
      made,
      /where PROVIDERS is set as here, and MINE is set as here: /,
      / send --provider psp --ensure/,
    ],
    ['an edited file', {}, { mine: stripe(SECRET) }, /another terminal: /, / send --provider mine --ensure/],
    ['a file without acme', {}, { stripe: made.stripe }, /another terminal: /, / send --provider stripe --ensure/],
    [
      'a variable of the user with the name of a development secret',
      { ONCEHOOK_STRIPE_SECRET: SECRET },
      { stripe: made.stripe },
      /where ONCEHOOK_STRIPE_SECRET is set as here: /,
      / send --provider stripe --ensure/,
    ],
    [
      'own API_TOKENS',
      { API_TOKENS: '{}' },
      made,
      /where API_TOKEN is one of your API_TOKENS: /,
      / send --token-env API_TOKEN --ensure/,
    ],
    [
      'providers that can only be asked',
      { PROVIDERS: JSON.stringify({ bot: { scheme: 'discord', secrets: [] }, shop: stripe(SECRET) }) },
      made,
      /PROVIDERS/,
      / send --provider shop --ensure/,
    ],
  ])('names a provider that exists, and what it needs: %s', async (...[, env, file, how, line]) => {
    const lines = await next(env, file)
    expect(lines).toEqual(PAID.map((text) => expect.stringContaining(text)))
    expect(lines[0]).toMatch(how)
    expect(lines[2]).toMatch(line)
  })

  it('uses the file of own providers', async () => {
    const PROVIDERS_FILE = join(folder, 'own.json')
    writeFileSync(PROVIDERS_FILE, JSON.stringify({ psp: stripe(SECRET) }))
    expect((await next({ PROVIDERS_FILE }))[2]).toContain(' send --provider psp ')
  })

  it('is none if no payment can be signed, and says why for each provider', async () => {
    const live = { scheme: 'stripe', secrets: [{ id: '1', value: SECRET }] }
    const lines = await next({ PROVIDERS: JSON.stringify({ live, repo: { ...live, scheme: 'github' } }) })
    expect(lines).toEqual([
      'Let your providers deliver an event: `oncehook send` cannot pay an order through any of them',
      expect.stringMatching(/^ {2}live: its payment would have no effect: .*`livemode`.*\(not_expected\)$/),
      expect.stringMatching(/^ {2}repo: its payment would have no effect: .*\(type_unhandled\)$/),
    ])
    expect(await next({ PROVIDERS: '{}' })).toEqual([expect.stringContaining('PROVIDERS names no provider')])
  })
})
