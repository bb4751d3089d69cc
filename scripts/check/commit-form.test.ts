import { describe, expect, it } from 'vitest'
import { commitProblems, describeBadCommits } from './commit-form.ts'

const BODY = '\n\nWithout it, a stopped process lost its answer.'

describe('the message of a commit', () => {
  it.each([
    `fix(inbox): a revived event gets no new budget${BODY}`,
    `docs: each package has a README${BODY}`,
    `feat(webhooks)!: createVerifier takes one object${BODY}`,
    `ci: ${'x'.repeat(68)}${BODY}\n\nSigned-off-by: Ada <ada@example.com>\n`,
  ])('has the form: %j', (message) => {
    expect(commitProblems(message)).toEqual([])
  })

  it.each([
    [`Tests wait for what they want to see${BODY}`, /^the subject is not "type\(scope\): subject"/],
    [`feature(inbox): events are kept${BODY}`, /^the subject is not/],
    [`fix(Inbox): events are kept${BODY}`, /^the subject is not/],
    [`fix(inbox):events are kept${BODY}`, /^the subject is not/],
    [`fix: ${'ü'.repeat(68)}${BODY}`, /^the subject has 73 characters, more than 72$/],
    [`fix: events are kept.${BODY}`, /^the subject ends with a full stop$/],
    ['fix: events are kept\nbecause they were lost\nby a stop', /^the line after the subject is not empty$/],
    ['fix: events are kept', /^it has no body that says why$/],
    ['fix: events are kept\n\nSigned-off-by: Ada <ada@example.com>', /^it has no body that says why$/],
  ])('does not have the form: %j', (message, problem) => {
    expect(commitProblems(message)).toEqual([expect.stringMatching(problem)])
  })
})

it('a bad commit is described with its id, its subject and every problem', () => {
  const good = { id: 'a'.repeat(40), message: `fix: events are kept${BODY}` }
  const bad = { id: 'b'.repeat(40), message: 'Events are kept.' }
  expect(describeBadCommits([good, bad])).toEqual([
    expect.stringMatching(/^bbbbbbb Events are kept\.: .*type\(scope\).*; .*full stop; .*no body/),
  ])
})
