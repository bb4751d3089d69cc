import { gocardless } from '@oncehook/webhooks/signing/payments/gocardless'
import { expect, it } from 'vitest'
import { checkBatch } from './send-options.ts'

it('a delivery has at most as many events as the gateway accepts', () => {
  const identity = { scheme: 'gocardless', signer: gocardless }
  checkBatch(identity, 1_000)
  expect(() => checkBatch(identity, 1_001)).toThrow('A delivery of gocardless contains at most 1000 events')
})
