import { expect, it } from 'vitest'
import { maskCardNumbers } from './events.ts'

it.each([
  ['{"number":"4111111111111111"}', '{"number":"************1111"}'],
  ['{"number":4111111111111111,"a":1}', '{"number":************1111,"a":1}'],
  ['4111 1111 1111 1111', '**** **** **** 1111'],
  ['5500-0000-0000-0004', '****-****-****-0004'],
  ['378282246310005', '***********0005'],
  ['4222222222222', '*********2222'],
  ['6304000000000000000', '***************0000'],
  ['2223003122003222 and 6011000990139424', '************3222 and ************9424'],
])('masks the card numbers of %s', (text, masked) => {
  expect(maskCardNumbers(text)).toBe(masked)
})

it.each([
  ['a number that fails Luhn', '4111111111111112'],
  ['a time in milliseconds', '1763848800004'],
  ['fewer digits', '411111111111'],
  ['more digits', '41111111111111111111'],
  ['an amount', '{"amount":1999,"id":"evt_4242"}'],
])('leaves %s', (_, text) => {
  expect(maskCardNumbers(text)).toBe(text)
})
