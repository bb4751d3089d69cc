import type { ExpectedAnswer } from './published-contracts.ts'

/** An answer, as far as a contract speaks about it. */
export interface GivenAnswer {
  readonly status: number
  readonly headers: Headers
  /** The parsed body. Undefined if it is not JSON. */
  readonly json: unknown
  /** Its text. */
  readonly text: string
}

type Rules = ExpectedAnswer['matchingRules']['body']

const CLASSES: Readonly<Record<string, string>> = { success: '2xx', clientError: '4xx' }

/** The statuses that a contract permits: `2xx`, `409`, or `200, 204 or 422`. */
export function describeStatus({ status, matchingRules }: ExpectedAnswer): string {
  const permitted = matchingRules.status.$?.matchers[0]?.status ?? [status]
  if (typeof permitted === 'string') return CLASSES[permitted] ?? permitted
  const [last, ...others] = permitted.toReversed()
  return others.length === 0 ? String(last) : `${others.toReversed().join(', ')} or ${last}`
}

/**
 * The differences between an answer and a contract; none if it is kept. An answer may have more headers and properties than
 * the contract names. No difference quotes the answer.
 */
export function matchAnswer(expected: ExpectedAnswer, given: GivenAnswer): readonly string[] {
  if (!permits(expected, given.status)) {
    return [`the status is ${given.status} instead of ${describeStatus(expected)}`]
  }
  const { headers, body, matchingRules } = expected
  return [
    ...Object.entries(headers).flatMap(([name, [example = '']]) =>
      matchHeader({ name, example, rules: matchingRules.header }, given.headers),
    ),
    ...(body === undefined ? [] : matchValue({ at: '$', rules: matchingRules.body }, body.content, given.json)),
  ]
}

function permits({ status, matchingRules }: ExpectedAnswer, given: number): boolean {
  const permitted = matchingRules.status.$?.matchers[0]?.status
  if (permitted === undefined) return given === status
  if (typeof permitted === 'object') return permitted.includes(given)
  return CLASSES[permitted] === `${Math.floor(given / 100)}xx`
}

interface NamedHeader {
  readonly name: string
  readonly example: string
  readonly rules: Rules
}

function matchHeader({ name, example, rules }: NamedHeader, headers: Headers): readonly string[] {
  const value = headers.get(name)
  if (value === null) return [`the header ${name} is missing`]
  const pattern = patternOf(rules[name])
  const isRight = pattern === null ? value === example : pattern.test(value)
  return isRight ? [] : [`the header ${name} is not ${pattern === null ? example : `like ${example}`}`]
}

function patternOf(rule: Rules[string] | undefined): RegExp | null {
  const text = rule?.matchers[0]?.regex
  return text === undefined ? null : new RegExp(text)
}

interface Place {
  /** A path, as in `$.results[0]`. */
  readonly at: string
  readonly rules: Rules
}

function matchValue(place: Place, expected: unknown, given: unknown): readonly string[] {
  if (Array.isArray(expected)) return matchList(place, expected, given)
  if (typeof expected === 'object' && expected !== null) return matchObject(place, expected, given)
  const pattern = patternOf(place.rules[place.at])
  const isRight = pattern === null ? given === expected : typeof given === 'string' && pattern.test(given)
  return isRight ? [] : [`${place.at} is not ${pattern === null ? JSON.stringify(expected) : `like ${expected}`}`]
}

function matchList({ at, rules }: Place, expected: readonly unknown[], given: unknown): readonly string[] {
  if (!Array.isArray(given)) return [`${at} is not a list`]
  if (given.length !== expected.length) return [`the length of ${at} is ${given.length} instead of ${expected.length}`]
  return expected.flatMap((one, index) => matchValue({ at: `${at}[${index}]`, rules }, one, given[index]))
}

function matchObject({ at, rules }: Place, expected: object, given: unknown): readonly string[] {
  if (typeof given !== 'object' || given === null) return [`${at} is not an object`]
  const members = given as Readonly<Record<string, unknown>>
  return Object.entries(expected).flatMap(([name, value]) =>
    matchValue({ at: `${at}.${name}`, rules }, value, members[name]),
  )
}
