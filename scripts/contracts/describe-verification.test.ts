import { describe, expect, it } from 'vitest'
import { describeVerification } from './describe-verification.ts'

function failure(interaction: string, mismatch: object): Error {
  return new Error(JSON.stringify({ errors: [{ interaction, mismatch }], output: ['\u001b[31m'], result: false }))
}

const INTERACTION = 'Verifying a pact between gateway and fulfilment Given there is an order - asks for it'

describe('describeVerification', () => {
  it('names the interaction and each difference in its answer', () => {
    const mismatches = [
      { type: 'StatusMismatch', mismatch: 'expected 412 but was 409' },
      { type: 'BodyMismatch', path: '$.version', mismatch: 'Expected "2" (String) to be equal to 2 (Integer)' },
      { type: 'HeaderMismatch', key: 'ETag', mismatch: "Expected header 'ETag' but was missing" },
    ]
    expect(describeVerification(failure(INTERACTION, { type: 'mismatches', mismatches }))).toEqual([
      '- Given there is an order - asks for it: status expected 412 but was 409; ' +
        '$.version: Expected "2" (String) to be equal to 2 (Integer); ' +
        "header ETag: Expected header 'ETag' but was missing",
    ])
  })

  it('says why an interaction could not be tried', () => {
    expect(describeVerification(failure(INTERACTION, { type: 'error', message: 'connection refused' }))).toEqual([
      '- Given there is an order - asks for it: connection refused',
    ])
  })

  it.each([new Error('Pact core crashed'), new Error('{"errors":[]}'), new Error('null'), 'Pact core crashed'])(
    'passes on what is no result: %s',
    (error) => {
      expect(describeVerification(error)).toEqual([`- ${error instanceof Error ? error.message : error}`])
    },
  )
})
