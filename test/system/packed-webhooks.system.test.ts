import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { readVectorFiles } from '@oncehook/webhooks/testing/vectors'
import { afterAll, describe, expect, it } from 'vitest'
import { writeVectorsFile } from '../../scripts/packages/attached-files.ts'
import { buildWebhooks } from '../../scripts/packages/build-webhooks.ts'
import { findPackageProblems, installPackage } from '../support/install-package.ts'
import { requireNode } from '../support/require-node.ts'

const run = promisify(execFile)
const repository = resolve(import.meta.dirname, '../..')
const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const installed = stack.use(await installPackage((built) => buildWebhooks(repository, built), ['zod']))
const { folder } = installed

/** Reads the first vector of Stripe, and prints what the verifier says. */
const LINES = `
const { secret, now, headers, body } = JSON.parse(readFileSync('delivery.json', 'utf8'))
const verifier = createVerifier({ scheme: 'stripe', secrets: secret }, { now: () => now * 1000 })
verifier.verify({ rawBody: Buffer.from(body, 'base64'), headers: headers.flat() }).then((result) => {
  console.log(result.outcome, result.status)
  for (const event of result.events) console.log(event.type, event.objectId)
})
`
const PROGRAMS = {
  'program.mjs': `import { readFileSync } from 'node:fs'\nimport { createVerifier } from '@oncehook/webhooks'${LINES}`,
  'program.cjs': `const { readFileSync } = require('node:fs')\nconst { createVerifier } = require('@oncehook/webhooks')${LINES}`,
}

const WRONG = `createVerifier({ scheme: 'stripe', secrets: '' })\n`
const UNCAUGHT = {
  'uncaught.mjs': `import { createVerifier } from '@oncehook/webhooks'\n${WRONG}`,
  'uncaught.cjs': `const { createVerifier } = require('@oncehook/webhooks')\n${WRONG}`,
}

const TYPED = `
const verifier = createVerifier({ scheme: 'stripe', secrets: 'whsec_0123456789abcdef' })
export const POST: (request: Request) => Promise<Response> = fetchWebhook(verifier, ({ events }) => console.log(events))
export async function amounts(rawBody: string, headers: Headers): Promise<readonly (number | undefined)[]> {
  const result = await verifier.verify({ rawBody, headers })
  return result.outcome === 'verified' ? result.events.map(({ facts }) => facts.amount) : []
}
// @ts-expect-error Square signs the public URL.
createVerifier({ scheme: 'square', secrets: 'whsec_0123456789abcdef' })
`
const IMPORTS =
  "import { createVerifier } from '@oncehook/webhooks'\nimport { fetchWebhook } from '@oncehook/webhooks/fetch'\n"

const PROVIDERS = `
import { type Provider, type ProviderSettings, providersSchema } from '@oncehook/webhooks/providers'
const { data } = providersSchema.safeParse({})
export const settings: Record<string, ProviderSettings> | undefined = data
export const verify = ({ verify }: Provider) => verify({ rawBody: Buffer.of(), rawHeaders: [], query: '' }, 0, fetch)
`

const BOTH = `
import { createRequire } from 'node:module'
import { createVerifier, VerifierSettingsError } from '@oncehook/webhooks'
import { koaWebhook } from '@oncehook/webhooks/koa'
const required = createRequire(import.meta.url)('@oncehook/webhooks')
try {
  required.createVerifier({ scheme: 'stripe', secrets: '' })
} catch (error) {
  console.log(error instanceof VerifierSettingsError && typeof koaWebhook === 'function')
}
`

const VECTORS = `
import { readFileSync } from 'node:fs'
import { createVerifier } from '@oncehook/webhooks'
const fetch = () => Promise.reject(new Error('nobody answers'))
const found = { right: 0, wrong: [] }
for (const { scheme, cases } of JSON.parse(readFileSync('webhook-vectors.json', 'utf8')).schemes) {
  for (const { why, verdict, settings, secret, notAfter, now, headers, query = '', body } of cases) {
    const secrets = [{ value: secret, ...(notAfter && { notAfter: new Date(notAfter) }) }]
    const options = { scheme, acceptShortSecret: true, effects: [], ...settings, ...(secret && { secrets }) }
    const verifier = createVerifier(options, { now: () => now * 1000, fetch })
    const delivery = { rawBody: Buffer.from(body, 'base64'), headers: headers.flat(), url: '/?' + query }
    const { outcome, status } = await verifier.verify(delivery)
    if ((status === 401 ? 'refused' : 'accepted') === verdict) found.right += 1
    else found.wrong.push([scheme, why, outcome])
  }
}
console.log(JSON.stringify(found))
`

describe('the packed @oncehook/webhooks', () => {
  // Two formats, neither minified. A minified one was 70 kB, and an error printed all of it.
  it('is smaller than 600 kB, and needs only what it uses at run time', async () => {
    expect(installed.unpackedBytes).toBeLessThan(600_000)
    const manifest = JSON.parse(await readFile(join(folder, 'node_modules/@oncehook/webhooks/package.json'), 'utf8'))
    expect(Object.keys(manifest.dependencies)).toEqual(['zod'])
    expect(Object.keys(manifest).filter((name) => /.Dependencies|private|scripts/.test(name))).toEqual([])
    expect(manifest).toMatchObject({ license: 'Apache-2.0', sideEffects: false, engines: { node: '>=20.15' } })
  })

  it('is what publint and Are The Types Wrong recommend', async () => {
    expect(await findPackageProblems(installed.tarball)).toEqual([])
  })

  it.for([20, 22, 24].flatMap((major) => Object.entries(PROGRAMS).map((program) => [major, ...program] as const)))(
    'verifies a delivery of Stripe in eight lines, on Node.js %i: %s',
    async ([major, name, program], context) => {
      const node = await requireNode(major, context)
      const vector = readVectorFiles().find(({ scheme }) => scheme === 'stripe')?.cases[0]
      await writeFile(join(folder, 'delivery.json'), JSON.stringify(vector))
      await writeFile(join(folder, name), program)
      expect(program.trim().split('\n').length).toBeLessThanOrEqual(8)
      const { stdout, stderr } = await run(node, [name], { cwd: folder })
      expect([stdout, stderr]).toEqual(['verified 200\npayment.succeeded pay_0001\n', ''])
    },
  )

  it.each([
    ['nodenext', 'nodenext', ['typed.mts', 'typed.cts']],
    ['node16', 'node16', ['typed.mts', 'typed.cts']],
    ['preserve', 'bundler', ['typed.mts']],
  ])(
    'is typed for module %s and resolution %s, without the types of Node.js, of a framework or of Zod',
    async (module, resolution, files) => {
      for (const file of files) await writeFile(join(folder, file), `${IMPORTS}${TYPED}`)
      const strict = ['--strict', '--exactOptionalPropertyTypes', '--noEmit', '--types']
      const options = [...strict, '--module', module, '--moduleResolution', resolution]
      const tsc = [join(repository, 'node_modules/typescript/bin/tsc'), ...options, ...files]
      await expect(run(process.execPath, tsc, { cwd: folder })).resolves.toMatchObject({ stdout: '' })
    },
  )

  it('is typed for settings as data, with the types of Node.js', async () => {
    await writeFile(join(folder, 'providers.mts'), PROVIDERS)
    const types = ['--types', 'node', '--typeRoots', join(repository, 'node_modules/@types')]
    const tsc = [join(repository, 'node_modules/typescript/bin/tsc'), '--strict', '--noEmit', '--module', 'nodenext']
    const compiled = run(process.execPath, [...tsc, ...types, 'providers.mts'], { cwd: folder })
    await expect(compiled).resolves.toMatchObject({ stdout: '' })
  })

  it('has each class once, whatever the format', async () => {
    await writeFile(join(folder, 'both.mjs'), BOTH)
    expect((await run(process.execPath, ['both.mjs'], { cwd: folder })).stdout).toBe('true\n')
  })

  it('can be bundled as ES modules, because its own contain no CommonJS', async () => {
    const dist = join(folder, 'node_modules/@oncehook/webhooks/dist')
    const entry = await readFile(join(dist, 'index.mjs'), 'utf8')
    expect(entry).toMatch(/^export \{ [\w, ]+ \} from '\.\/all\.mjs'\n$/)
    expect(await readFile(join(dist, 'all.mjs'), 'utf8')).not.toMatch(/\b(?:require|createRequire|module\.exports)\b/)
  })

  it('requires only what every Node.js and Jest can require: no package that has only ES modules', async () => {
    const code = await readFile(join(folder, 'node_modules/@oncehook/webhooks/dist/all.cjs'), 'utf8')
    const required = [...code.matchAll(/require\("([^"]+)"\)/g)].map(([, name = '']) => name)
    expect(required.filter((name) => !name.startsWith('node:'))).toEqual(['zod'])
  })

  it.each(Object.entries(UNCAUGHT))('prints few lines for an error that nobody catches: %s', async (name, program) => {
    await writeFile(join(folder, name), program)
    const failed = await run(process.execPath, [name], { cwd: folder }).catch((error: { stderr: string }) => error)
    expect(failed.stderr).toContain('VerifierSettingsError: The verifier cannot be created')
    expect(failed.stderr.length).toBeLessThan(3_000)
  })

  it('returns the expected result for every vector in the one file', async () => {
    await writeVectorsFile(repository, join(folder, 'webhook-vectors.json'))
    await writeFile(join(folder, 'vectors.mjs'), VECTORS)
    const { stdout } = await run(process.execPath, ['vectors.mjs'], { cwd: folder })
    const count = readVectorFiles().reduce((sum, { cases }) => sum + cases.length, 0)
    expect(JSON.parse(stdout)).toEqual({ right: count, wrong: [] })
  })
})
