import { SettingsError } from '@oncehook/kernel/settings'
import { loadSchemes } from '@oncehook/webhooks/providers'
import { SCHEMES } from '@oncehook/webhooks/testing/schemes'
import { describe, expect, it } from 'vitest'
import { loadNamedSchemes } from '../settings.ts'
import { createProvidersSource } from './providers-source.ts'

const secrets = [{ id: 'a', value: 'a secret of nobody at all' }]

/** A source as a start makes it, and the setting behind it. */
async function openSource(first: object) {
  const setting = { json: JSON.stringify(first) }
  const schemes = await loadNamedSchemes({ PROVIDERS: setting.json })
  const options = { readText: () => setting.json, maxBytes: 1_000, toleranceSeconds: 300, schemes }
  return { source: createProvidersSource({}, options), setting, loaded: [...schemes.keys()] }
}

describe('the schemes of a start', () => {
  it('are those that its settings name, each once', async () => {
    const { source, loaded } = await openSource({
      ...{
        one: { scheme: 'stripe', secrets },
        two: { scheme: 'stripe', secrets },
        three: { scheme: 'slack', secrets },
      },
    })
    expect(loaded).toEqual(['stripe', 'slack'])
    expect([...source.read().keys()]).toEqual(['one', 'two', 'three'])
  })

  it('are none if no setting can be read', async () => {
    const texts = [
      undefined,
      '',
      '[',
      '[]',
      'null',
      '{"acme":null}',
      '{"acme":{"scheme":["stripe"]}}',
      '{"a":{"scheme":"no"}}',
    ]
    const loaded = await Promise.all(texts.map((PROVIDERS) => loadNamedSchemes({ PROVIDERS })))
    expect(loaded.map(({ size }) => size)).toEqual(texts.map(() => 0))
    expect((await loadSchemes(['toString', 'stripe'])).size).toBe(1)
  })

  it('do not shorten the list of suggestions for a wrong name', async () => {
    const { source } = await openSource({ acme: { scheme: 'strype', secrets }, shop: { scheme: 'slack', secrets } })
    const all = [...SCHEMES.keys()].map((name) => `'${name}'`).join(' | ')
    const message = `PROVIDERS.acme.scheme invalid discriminator value. Expected ${all}`
    expect(() => source.read()).toThrow(new SettingsError([message]))
  })

  it('are all of them once deliveries are taken, for a file that has changed may name any', async () => {
    const { source, setting } = await openSource({ acme: { scheme: 'stripe', secrets } })
    setting.json = JSON.stringify({ acme: { scheme: 'slack', secrets } })
    expect(() => source.read()).toThrow('The scheme slack is not loaded')
    await source.loadAllSchemes()
    expect(source.read().get('acme')?.scheme).toBe('slack')
  })
})
