import { expect, it } from 'vitest'
import { splitEvents } from './read-batch.ts'

it.each([
  ['one', '{"handler":"a","events":[{"key":"1"}]}', ['{"key":"1"}']],
  [
    'spaces and large numbers',
    '{ "events" : [ { "n": 12345678901234567890 } , {} ] }',
    ['{ "n": 12345678901234567890 }', '{}'],
  ],
  [
    'brackets and quotation marks in texts',
    String.raw`{"events":[{"a":"}]\"{\\"},{"b":"\\\\"}]}`,
    [String.raw`{"a":"}]\"{\\"}`, String.raw`{"b":"\\\\"}`],
  ],
  [
    'lists inside of events',
    '{"events":[{"events":[{"x":[]}]},{"y":{}}],"more":[{}]}',
    ['{"events":[{"x":[]}]}', '{"y":{}}'],
  ],
  ['other lists and objects', '{"first":[{"a":1}],"object":{"events":[{}]},"events":[{"b":2}]}', ['{"b":2}']],
  ['a value with the name of the list', '{"handler":"events","list":[{}],"events":[{"b":2}]}', ['{"b":2}']],
  // The parser of the language keeps the last one too.
  ['two lists', '{"events":[{"a":1}],"events":[{"b":2}]}', ['{"b":2}']],
  ['no list', '{"handler":"a"}', []],
  ['an empty list', '{"events":[]}', []],
])('the texts of events are as they were sent: %s', (_, json, texts) => {
  JSON.parse(json)
  expect(splitEvents(json)).toEqual(texts)
})

it('a text of a megabyte needs no more stack than a short one', () => {
  const long = `{"a":"${'x\\"'.repeat(400_000)}"}`
  expect(splitEvents(`{"events":[${long},${long}]}`)).toEqual([long, long])
})
