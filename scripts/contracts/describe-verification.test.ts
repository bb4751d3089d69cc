import { expect, it } from 'vitest'
import { describeVerification } from './describe-verification.ts'

const interaction = 'Verifying a pact between shop and gateway - Given an order - reads an order'
const mismatches = [
  { type: 'StatusMismatch', mismatch: 'expected 200 but was 404' },
  { type: 'HeaderMismatch', key: 'etag', mismatch: "expected 'x' but was ''" },
  { type: 'BodyMismatch', path: '$.total', mismatch: 'expected 1 but was 2' },
]

it.each([
  {
    of: 'differences',
    error: new Error(JSON.stringify({ errors: [{ interaction, mismatch: { mismatches } }] })),
    line: "- Given an order - reads an order: status expected 200 but was 404; header etag: expected 'x' but was ''; $.total: expected 1 but was 2 (the provider: order_unknown)",
  },
  {
    of: 'a request without an answer',
    error: new Error(JSON.stringify({ errors: [{ interaction, mismatch: { message: 'no connection' } }] })),
    line: '- Given an order - reads an order: no connection (the provider: order_unknown)',
  },
  { of: 'another error', error: new Error('There is no such file'), line: '- There is no such file' },
  { of: 'a report without differences', error: new Error('{"errors":[]}'), line: '- {"errors":[]}' },
])('says what a failed verification found: $of', ({ error, line }) => {
  const reasonOf = (does: string) => (does === 'reads an order' ? 'order_unknown' : undefined)
  expect(describeVerification(error, reasonOf)).toEqual([line])
})
