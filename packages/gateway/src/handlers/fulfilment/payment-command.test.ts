import { expect, it } from 'vitest'
import { sampleClaim } from '../../testing/sample-claim.ts'
import { toPaymentCommand } from './payment-command.ts'

it.each(['payment.succeeded', 'payment.failed'] as const)('a test event never becomes a command of %s', (type) => {
  expect(toPaymentCommand(sampleClaim('a'), type)).toHaveProperty('command')
  expect(toPaymentCommand(sampleClaim('a', {}, { test: true }), type)).toEqual({ refused: 'test_event' })
})
