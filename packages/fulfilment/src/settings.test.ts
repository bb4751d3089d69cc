import { randomBytes } from 'node:crypto'
import { newServiceKeyPair } from '@oncehook/kernel/testing/service-key-pair'
import { settingsProblems } from '@oncehook/kernel/testing/settings-problems'
import { describe, expect, it } from 'vitest'
import { readFulfilmentSettings } from './settings.ts'

const GOOD = {
  MONGODB_URI: 'mongodb://user:canary@127.0.0.1/?replicaSet=rs0',
  SERVICE_PUBLIC_KEYS: newServiceKeyPair().publicKey,
}

const problemsOf = (env: NodeJS.ProcessEnv) => settingsProblems(() => readFulfilmentSettings(env))

describe('readFulfilmentSettings', () => {
  it('reports every problem at once, by name, and no value', () => {
    const problems = problemsOf({
      ...GOOD,
      SERVICE_PUBLIC_KEYS: 'canary-short',
      FULFILMENT_PORT: 'canary',
      RECEIPT_SINK: 'canary://there',
      IDEMPOTENCY_TTL_SECONDS: '0',
      LOG_LEVEL: 'canary',
    })
    const names = ['FULFILMENT_PORT', 'IDEMPOTENCY_TTL_SECONDS', 'LOG_LEVEL', 'RECEIPT_SINK', 'SERVICE_PUBLIC_KEYS']
    expect(problems.map((line) => line.split(' ')[0])).toEqual(names)
    expect(problems.join()).not.toMatch(/canary/)
  })

  it('signs receipts with up to three secrets, and requires one for hosts beyond this machine', () => {
    const secrets = [24, 32, 64].map((count) => `whsec_${randomBytes(count).toString('base64')}`)
    const post = { ...GOOD, RECEIPT_SINK: 'https://shop.example/receipts' }
    expect(problemsOf(post)).toEqual([expect.stringMatching(/^RECEIPT_SINK posts .* Add RECEIPT_SECRET=whsec_/)])
    expect(readFulfilmentSettings({ ...post, RECEIPT_SECRET: secrets[0] }).RECEIPT_SECRET).toHaveLength(1)
    expect(readFulfilmentSettings({ ...post, RECEIPT_SECRET: secrets.join(' ') }).RECEIPT_SECRET).toHaveLength(3)
    const wrong = ['', 'canary', 'whsec_canary', `whsec_${Buffer.alloc(23, 7).toString('base64')}`]
    for (const RECEIPT_SECRET of [...wrong, `whsec_${'A'.repeat(32)}`, [...secrets, ...secrets].join(' ')]) {
      const problems = problemsOf({ ...post, RECEIPT_SECRET })
      expect(problems).toEqual([expect.stringMatching(/^RECEIPT_SECRET /)])
      expect(problems.join()).not.toContain('canary')
    }
  })
})
