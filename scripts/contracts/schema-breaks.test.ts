import { expect, it } from 'vitest'
import type { FulfilmentDescription, JsonSchema } from './describe-fulfilment.ts'
import { schemaBreaks } from './schema-breaks.ts'

const TEXT = { type: 'string' }
const AMOUNT = { type: 'integer', minimum: 0, maximum: 99 }
const NONE = { type: 'null' }
const ABC = { ...TEXT, enum: ['a', 'b', 'c'] }
const AB = { ...TEXT, enum: ['a', 'b'] }
const DATE_TIME = { ...TEXT, format: 'date-time', pattern: '^1$' }
const open = (properties: object, ...required: string[]) => ({ type: 'object', properties, required })
const closed = (properties: object, ...required: string[]) => ({
  ...open(properties, ...required),
  additionalProperties: false,
})
const listOf = (items: object) => ({ type: 'array', items })
const mapOf = (additionalProperties: object) => ({ type: 'object', additionalProperties })
const either = (...anyOf: object[]) => ({ anyOf })

/** From a schema to another one: what it breaks as an input, and what as an output. */
const CHANGES: readonly (readonly [
  what: string,
  was: object,
  now: object,
  ...said: [asInput: string, asOutput: string],
])[] = [
  ['a value less', ABC, AB, ' takes no "c" any more', ''],
  ['a value more', AB, ABC, '', ' can be "c"'],
  ['a value renamed', AB, { ...TEXT, enum: ['a', 'B'] }, ' takes no "b" any more', ' can be "B"'],
  ['values in another order and form', AB, either({ ...TEXT, const: 'b' }, { ...TEXT, const: 'a' }), '', ''],
  ['values instead of any text', TEXT, AB, ' takes fewer values', ''],
  ['any text instead of values', AB, TEXT, '', ' can have any value'],
  ['another constant', { const: 1 }, { const: 2 }, ' takes no 1 any more', ' can be 2'],
  ['a value of a branch', either(AB, NONE), either(ABC, NONE), '', ' can be "c"'],
  ['null as well', TEXT, either(TEXT, NONE), '', ' is null, not string'],
  ['no null any more', { type: ['string', 'null'] }, TEXT, ' must be string', ''],
  ['another type', TEXT, { type: 'boolean' }, ' must be boolean', ' is boolean, not string'],
  ['fractions as well', AMOUNT, { ...AMOUNT, type: 'number' }, '', ' is number, not integer'],
  ['a higher maximum', AMOUNT, { ...AMOUNT, maximum: 999 }, '', ' has a looser maximum'],
  ['a higher minimum', AMOUNT, { ...AMOUNT, minimum: 1 }, ' has a stricter minimum', ''],
  ['a pattern', TEXT, { ...TEXT, pattern: '^1$' }, ' has a stricter pattern', ''],
  ['no format', DATE_TIME, TEXT, '', ' has a looser format'],
  ['a format in other words of the library', DATE_TIME, { ...DATE_TIME, pattern: '^2$' }, '', ''],
  ['an optional member more', closed({ a: TEXT }), closed({ b: TEXT, a: TEXT }), '', ''],
  ['a needed member more', open({}), open({ a: TEXT }, 'a'), ' needs a', ''],
  ['a member that may be absent', open({ a: TEXT }, 'a'), open({ a: TEXT }), '', ' may lack a'],
  ['a member less', open({ a: TEXT }), open({}), ' does not read a', ''],
  ['a member renamed', closed({ a: TEXT }, 'a'), closed({ b: TEXT }, 'b'), ' needs b; refuses a', ' may lack a'],
  ['no unknown members', open({}), closed({}), ' is closed to members that it does not know', ''],
  ['unknown members as well', closed({}), open({}), '', ''],
  [
    'a type inside',
    listOf(open({ a: TEXT })),
    listOf(open({ a: NONE })),
    '[].a must be null',
    '[].a is null, not string',
  ],
  ['a value of a map', mapOf(AB), mapOf(ABC), '', '.* can be "c"'],
  ['another default', { ...AMOUNT, default: 1 }, { ...AMOUNT, default: 2 }, ' has another default', ''],
  ['a description', TEXT, { ...TEXT, description: 'a text', title: 'Text' }, '', ''],
]

function describe(input: object, output: object): FulfilmentDescription {
  const errors = { gone: { status: 404, retry: 'never' } }
  const ask = { kind: 'query', input: input as JsonSchema, output: output as JsonSchema }
  return { procedures: { ask }, errors }
}

it.each(CHANGES)('%s', (_, was, now, ...[asInput, asOutput]) => {
  const said = (side: string, lines: string) =>
    lines.split('; ').map((line) => `ask: ${side}${line.replace(/^(?=\w)/, ' ')}`)
  expect(schemaBreaks(describe(was, {}), describe(now, {}))).toEqual(asInput === '' ? [] : said('input', asInput))
  expect(schemaBreaks(describe({}, was), describe({}, now))).toEqual(asOutput === '' ? [] : said('output', asOutput))
})

it('names a procedure and an error that are gone or of another kind, and nothing that is new', () => {
  const was = describe({}, {})
  const ask = { kind: 'mutation', input: {}, output: {} }
  const later = { gone: { status: 404, retry: 'later' } }
  expect(schemaBreaks(was, { procedures: {}, errors: {} })).toEqual(['ask is gone', 'the error gone is gone'])
  expect(schemaBreaks(was, { procedures: { ask }, errors: later })).toEqual([
    ...['ask is no query any more', 'the error gone has another status or retry'],
  ])
  const more = { procedures: { ...was.procedures, tell: ask }, errors: { ...was.errors, other: later.gone } }
  expect(schemaBreaks(was, more)).toEqual([])
})
