import { Console } from 'node:console'
import { Writable } from 'node:stream'
import { format, inspect } from 'node:util'
import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { Secret, secretProblem } from './secret.ts'

const CANARY = 'canary-5f1c0b9e77aa4d1fb1f3c4e2'
const secret = new Secret(CANARY)

/** The output of console methods. */
function printedByConsole(value: unknown): string {
  const written: string[] = []
  const stream = new Writable({ write: (chunk, _encoding, done) => done(void written.push(String(chunk))) })
  const terminal = new Console(stream)
  terminal.log('%s %o', value, value, value)
  terminal.dir(value, { depth: null, showHidden: true })
  terminal.table([value])
  return written.join('')
}

function loggedByPino(value: unknown): string {
  const lines: string[] = []
  pino({}, { write: (line: string) => void lines.push(line) }).info({ value, nested: { value } }, 'shown')
  return lines.join('')
}

const WAYS: Record<string, (value: unknown) => string> = {
  String: (value) => String(value),
  'a template': (value) => `${value}`,
  concatenation: (value) => ['', value].join(''),
  'JSON.stringify': (value) => JSON.stringify({ value, list: [value] }),
  inspect: (value) => inspect({ value }, { depth: null, showHidden: true, getters: true }),
  'inspect without custom functions': (value) => inspect(value, { customInspect: false, showHidden: true }),
  'util.format': (value) => format('%s %o %O %j %d', value, value, value, value, value),
  console: printedByConsole,
  pino: loggedByPino,
  'the cause of an error': (value) => inspect(new Error('outer', { cause: value })),
  'a property of an error': (value) => inspect(Object.assign(new Error('outer'), { value })),
  'its own properties': (value) => JSON.stringify(Object.getOwnPropertyDescriptors(value)) + Object.keys(Object(value)),
  'a copy by spreading': (value) => inspect({ ...Object(value) }),
}

describe('Secret', () => {
  it.each(Object.entries(WAYS))('does not show through %s', (_way, show) => {
    const shown = show(secret)
    expect(shown).not.toContain(CANARY)
    expect(shown).not.toContain('canary')
  })
})

describe('secretProblem', () => {
  const GOOD = 'q7Zt0hXv2MZb4w9Lr1Yc8Ks6Dn3Fj5Gp'

  it.each(['', ' ', '\t\n  ', '\u00a0'])('refuses a text of whitespace: %j', (text) => {
    expect(secretProblem(text, 0)).toBe('is empty')
  })

  it.each([` ${GOOD}`, `${GOOD}\n`, `\t${GOOD}`])('refuses whitespace around a text', (text) => {
    expect(secretProblem(text, 32)).toBe('has leading or trailing whitespace')
  })

  it.each([
    'changeme',
    'change-me',
    'change_me',
    'placeholder',
    'your-secret',
    'your_secret',
    'CHANGEME',
    'Your-Secret',
  ])('refuses a text that contains %s', (sample) => {
    expect(secretProblem(`${GOOD}${sample}${GOOD}`, 32)).toBe('is a sample placeholder')
    expect(secretProblem(sample, 0)).toBe('is a sample placeholder')
  })

  it.each(['x', '0'.repeat(32), 'a'.repeat(500), '…'.repeat(40), '🔑'.repeat(16)])(
    'refuses one character repeated',
    (text) => {
      expect(secretProblem(text, 1)).toBe('is a sample placeholder')
    },
  )

  it('never repeats the text', () => {
    for (const text of [`${CANARY}changeme`, ` ${CANARY}`, CANARY]) {
      expect(secretProblem(text, 1_000)).not.toContain('canary')
    }
  })
})
