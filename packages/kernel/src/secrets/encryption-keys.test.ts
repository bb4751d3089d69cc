import { randomBytes } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { afterAll, describe, expect, it } from 'vitest'
import { memoryLogger } from '../testing/memory-logger.ts'
import { settingsProblems } from '../testing/settings-problems.ts'
import { temporaryFiles } from '../testing/temporary-files.ts'
import { createEncryptionKeysSource, watchEncryptionKeys } from './encryption-keys.ts'

const files = await temporaryFiles()
afterAll(() => files[Symbol.asyncDispose]())

const [OLD, NEW] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')]
const read = (env: NodeJS.ProcessEnv) => createEncryptionKeysSource(env).read()
const keys = (value: unknown) => ({ ENCRYPTION_KEYS: JSON.stringify(value) })

const problemsOf = (env: NodeJS.ProcessEnv) => settingsProblems(() => read(env))

describe('the keys of encryption', () => {
  it('are none if the setting is not set', () => {
    expect(read({})).toBeNull()
  })

  it('are those of a file, in its order, themselves perhaps in files and variables', async () => {
    const file = await files.write(`${OLD}\n`)
    const env = { OTHER: randomBytes(32).toString('base64') }
    const set = { ...keys({ b: NEW, a: { file }, c: { env: 'OTHER' } }), ...env }
    const whole = { ENCRYPTION_KEYS_FILE: await files.write(set.ENCRYPTION_KEYS), ...env }
    for (const one of [set, whole]) {
      const found = read(one)
      expect(found?.first.id).toBe('b')
      expect([...(found?.byId ?? [])].map(([id, key]) => [id, key.export().toString('base64')])).toEqual([
        ['b', NEW],
        ['a', OLD],
        ['c', env.OTHER],
      ])
    }
  })

  const shape = /^ENCRYPTION_KEYS must be a JSON object of 1 to 16 entries/
  const id = /^ENCRYPTION_KEYS: the id of entry 1 must be 1 to 32 characters/
  it.each<[string, NodeJS.ProcessEnv, string | RegExp]>([
    ['no JSON', { ENCRYPTION_KEYS: OLD }, 'ENCRYPTION_KEYS is not valid JSON'],
    ['a list', keys([OLD]), shape],
    ['none', keys({}), shape],
    ['numbers', keys({ a: 1 }), shape],
    ['seventeen', keys(Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`k${n}`, OLD]))), shape],
    ['a name twice', { ENCRYPTION_KEYS: `{"a":"${OLD}","a":"${NEW}"}` }, 'ENCRYPTION_KEYS has a name twice'],
    ['an id that is a whole number', keys({ 2026: OLD }), id],
    ['a key in the place of its id', keys({ [OLD.slice(0, 43)]: 'a' }), id],
    ['too short', keys({ a: OLD.slice(0, 20) }), /^ENCRYPTION_KEYS.a is not the base64 of 32 bytes/],
    ['24 bytes', keys({ a: randomBytes(24).toString('base64') }), /^ENCRYPTION_KEYS.a is not the base64 of 32 bytes/],
    ['hex', keys({ a: randomBytes(32).toString('hex') }), /^ENCRYPTION_KEYS.a is not the base64 of 32 bytes/],
    ['a sample', keys({ a: Buffer.alloc(32).toString('base64') }), 'ENCRYPTION_KEYS.a is a sample placeholder'],
    ['one twice', keys({ a: OLD, b: OLD }), 'ENCRYPTION_KEYS.b is the same as ENCRYPTION_KEYS.a'],
    ['a missing file', keys({ a: { file: '/nowhere' } }), 'ENCRYPTION_KEYS.a cannot be read'],
    ['a missing file as a whole', { ENCRYPTION_KEYS_FILE: '/nowhere' }, /^ENCRYPTION_KEYS_FILE cannot be read/],
  ])('are refused if they are %s, without a value', (_, env, problem) => {
    const problems = problemsOf(env)
    expect(problems).toEqual([typeof problem === 'string' ? problem : expect.stringMatching(problem)])
    expect(problems.join()).not.toContain(OLD.slice(0, 20))
  })

  it('follow their file, and do not change while it is wrong', async () => {
    const file = await files.write(JSON.stringify({ old: OLD }))
    const { logger, lines } = memoryLogger()
    const watched = watchEncryptionKeys(createEncryptionKeysSource({ ENCRYPTION_KEYS_FILE: file }), logger)
    const ids = () => [...(watched.current()?.byId.keys() ?? [])]
    await writeFile(file, JSON.stringify({ new: NEW, old: OLD }))
    watched.check()
    expect(ids()).toEqual(['new', 'old'])
    await writeFile(file, JSON.stringify({ new: 'canary' }))
    watched.check()
    watched.check()
    await rm(file)
    watched.check()
    expect(ids()).toEqual(['new', 'old'])
    expect(lines).toMatchObject([
      { msg: 'encryption-keys.changed', first: 'new', keys: ['new', 'old'] },
      { msg: 'encryption-keys.refused', level: 'error', problems: [expect.stringContaining('32 bytes')] },
      { msg: 'encryption-keys.refused', problems: ['ENCRYPTION_KEYS_FILE cannot be read (ENOENT)'] },
    ])
    expect(JSON.stringify(lines)).not.toContain('canary')
  })
})
