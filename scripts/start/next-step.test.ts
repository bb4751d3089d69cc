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

/** What is said next. `file` replaces the providers that the first start made. */
function next(env: NodeJS.ProcessEnv, file: object = made): readonly string[] {
  const data = openDataFolder(folder, {})
  writeFileSync(data.providers, JSON.stringify(file))
  const addresses = { gateway: address(1), admin: address(2), fulfilment: address(3) }
  return describeNextStep({ env, secrets, data, addresses, mongoUri: 'mongodb://127.0.0.1:1/' })
}

describe('the line to paste after npm start', () => {
  it('pays through the first provider of the first start', () => {
    const [how, , line] = next({})
    expect(how).toBe('Paste this line into another terminal: it makes an order and delivers its signed payment')
    expect(line).toMatch(/^npm run oncehook -- send --ensure-order ord_(\w{8}) --event-id evt_\1$/)
  })

  it('names the token that is needed if the user has set them', () => {
    const lines = next({ API_TOKENS: '{}' })
    expect(lines[0]).toContain('where API_TOKEN is one of your API_TOKENS: ')
    expect(lines[2]).toContain(' send --token-env API_TOKEN --ensure')
  })

  it('promises nothing about own providers, and shows no secret of theirs', () => {
    const psp = { scheme: 'stripe', secrets: [{ id: '1', value: 'whsec_0123456789abcdef' }] }
    const own = next({ PROVIDERS: JSON.stringify({ psp }) })
    expect(own.slice(0, 2).join(' ')).toMatch(
      /^Let your providers deliver an event\. .* where PROVIDERS is set as here/,
    )
    const edited = next({}, { psp })
    expect(edited.slice(0, 2).join(' ')).toMatch(/^Let your providers deliver an event\. .* where the variables/)
    expect([...own, ...edited].join('\n')).not.toContain('whsec_')
  })
})
