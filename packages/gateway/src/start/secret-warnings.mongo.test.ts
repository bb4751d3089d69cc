import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { expect, it } from 'vitest'
import { startGateway } from '../testing/start-gateway.ts'

it('a gateway whose callers and operators share a token starts, and warns', async () => {
  await using database = await testDatabase(process.env)
  const token = 'canary-q7Zt0hXv2MZb4w9Lr1Yc8Ks6Dn3Fj5Gp'
  const settings = { API_TOKENS: JSON.stringify({ shop: token }), OPERATOR_TOKENS: JSON.stringify({ alice: token }) }
  await using gateway = await startGateway({ database, settings })
  expect(gateway.logs).toContainEqual(
    expect.objectContaining({
      level: 'warn',
      msg: 'secret.shared',
      places: ['API_TOKENS.shop', 'OPERATOR_TOKENS.alice'],
    }),
  )
  expect(JSON.stringify(gateway.logs)).not.toContain('canary')
})
