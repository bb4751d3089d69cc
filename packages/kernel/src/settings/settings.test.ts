import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { Secret } from '../secrets/secret.ts'
import { settingsProblems } from '../testing/settings-problems.ts'
import { nameAsSet } from './name-as-set.ts'
import {
  integerSetting,
  logLevelSetting,
  mongoUriSetting,
  portSetting,
  readSettings,
  SettingsError,
  secretSetting,
  textSetting,
  urlSetting,
} from './settings.ts'

const CANARY = 'canary-5f1c0b9e77aa4d1fb1f3c4e2-5f1c'

const schema = z.object({
  HOST: textSetting('127.0.0.1'),
  PORT: portSetting(8080),
  NAME: textSetting(),
  TOKEN: secretSetting(32),
  MONGODB_URI: mongoUriSetting(),
  UPSTREAM: urlSetting(['http:', 'https:'], 'http://127.0.0.1:8090'),
  LEVEL: logLevelSetting,
  WAIT_MS: integerSetting({ min: 1, max: 60_000, fallback: 500 }),
})

const GOOD = { NAME: 'shop', TOKEN: CANARY, MONGODB_URI: 'mongodb://u:canary@127.0.0.1:27017' }

const problemsOf = (env: NodeJS.ProcessEnv, wanted: z.ZodObject = schema) =>
  settingsProblems(() => readSettings(wanted, env))

/** A folder for setting files. */
function settingsFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'settings-'))
  return {
    folder,
    write(name: string, content: string | Uint8Array): string {
      writeFileSync(join(folder, name), content)
      return join(folder, name)
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}

describe('readSettings', () => {
  it('reports all problems at once, one line each, named after the setting', () => {
    const problems = problemsOf({
      HOST: ' ',
      PORT: '80a',
      TOKEN: 'short',
      MONGODB_URI: 'http://127.0.0.1',
      UPSTREAM: 'ftp://127.0.0.1',
      LEVEL: 'loud',
      WAIT_MS: '0',
    })
    expect(problems.toSorted()).toEqual([
      'HOST is empty',
      'LEVEL must be one of trace, debug, info, warn, error, fatal, silent',
      'MONGODB_URI must begin with mongodb:// or mongodb+srv://',
      'NAME is not set',
      'PORT must be a whole number from 0 to 65535',
      'TOKEN is shorter than 32 characters',
      'UPSTREAM must be a URL that begins with http:// or https://',
      'WAIT_MS must be a whole number from 1 to 60000',
    ])
  })

  it('reads a value from the file that NAME_FILE names, without its last line break', () => {
    using files = settingsFolder()
    for (const [ending, expected] of [
      ['', CANARY],
      ['\n', CANARY],
      ['\r\n', CANARY],
    ] as const) {
      const env = { ...GOOD, TOKEN: undefined, TOKEN_FILE: files.write('token', `${CANARY}${ending}`) }
      expect(readSettings(schema, env).TOKEN.reveal()).toBe(expected)
    }
    const env = { ...GOOD, NAME: undefined, NAME_FILE: files.write('name', 'two\nlines\n\n') }
    expect(readSettings(schema, env).NAME).toBe('two\nlines\n')
  })

  it('refuses a file that is not text, so that no byte of a key is bent', () => {
    using files = settingsFolder()
    const file = files.write('token', Buffer.from(`${CANARY}\xff`, 'latin1'))
    expect(problemsOf({ ...GOOD, TOKEN: undefined, TOKEN_FILE: file })).toEqual(['TOKEN_FILE is not UTF-8 text'])
  })

  it('never prints a value, whatever is wrong with it', () => {
    const names = Object.keys(schema.shape)
    const value = fc.string().map((text) => `${text}canary${text}`)
    fc.assert(
      fc.property(fc.record(Object.fromEntries(names.map((name) => [name, value]))), (env) => {
        const error = catchSettingsError(env)
        expect(inspect(error, { depth: null, showHidden: true })).not.toContain('canary')
      }),
    )
  })
})

function catchSettingsError(env: NodeJS.ProcessEnv): unknown {
  try {
    return readSettings(schema, env)
  } catch (error) {
    expect(error).toBeInstanceOf(SettingsError)
    return error
  }
}

describe('integerSetting', () => {
  const one = z.object({ N: integerSetting({ min: 0, max: 9_000, fallback: 7 }) })

  it.each([
    ['0', 0],
    ['9000', 9_000],
    [' 12 ', 12],
    ['007', 7],
  ])('reads %j', (text, expected) => {
    expect(readSettings(one, { N: text }).N).toBe(expected)
  })

  it.each([
    ...['', ' ', '-1', '+1', '1.5', '1.0', '1e3', '0x10', '1_000', '1,000', '9001', '12px', '1 2', 'NaN', 'Infinity'],
    ...['٣', '9'.repeat(400)],
  ])('refuses %j', (text) => {
    expect(problemsOf({ N: text }, one)).toEqual(['N must be a whole number from 0 to 9000'])
  })
})

describe('mongoUriSetting', () => {
  const one = z.object({ MONGODB_URI: mongoUriSetting() })

  it('keeps the address secret', () => {
    const settings = readSettings(one, { MONGODB_URI: 'mongodb+srv://u:canary@example.com/db' })
    expect(settings.MONGODB_URI).toBeInstanceOf(Secret)
    expect(inspect(settings)).not.toContain('canary')
  })
})

describe('nameAsSet', () => {
  it.each([
    ['KEYS.b is the same as KEYS.a', { KEYS_FILE: 'f' }, 'KEYS_FILE.b is the same as KEYS_FILE.a'],
    ['KEYS is empty', { KEYS: 'x' }, 'KEYS is empty'],
    ['KEYS is empty', { KEYS: '', KEYS_FILE: 'f' }, 'KEYS_FILE is empty'],
    ['KEYS is not set', { KEYS_FILE: '' }, 'KEYS is not set'],
    [
      'KEYS is set twice: as KEYS and by KEYS_FILE',
      { KEYS: 'x', KEYS_FILE: 'f' },
      'KEYS is set twice: as KEYS and by KEYS_FILE',
    ],
    ['KEYS_FILE cannot be read (ENOENT)', { KEYS_FILE: 'f' }, 'KEYS_FILE cannot be read (ENOENT)'],
    [
      'TLS_CERT and TLS_KEY do not match',
      { TLS_KEY_FILE: 'f', TLS_CERT: 'x' },
      'TLS_CERT and TLS_KEY_FILE do not match',
    ],
    ['MORE_KEYS has a key', { KEYS_FILE: 'f' }, 'MORE_KEYS has a key'],
  ])('names what was set: %s', (problem, env, expected) => {
    expect(nameAsSet(problem, env)).toBe(expected)
  })
})
