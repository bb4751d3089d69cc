// Installs the packed libraries in an empty project, runs them in every runtime, test runner and bundler that they promise, and
// prints the table: npm run test:runtimes. It needs the npm registry and Linux.
import { execFile } from 'node:child_process'
import { mkdir, mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify, stripVTControlCharacters } from 'node:util'
import { buildHandler } from './packages/build-handler.ts'
import { buildWebhooks } from './packages/build-webhooks.ts'
import { packFolder } from './packages/pack-folder.ts'

const run = promisify(execFile)
const repository = resolve(import.meta.dirname, '..')
const NODES = { 'node-20.15': '20.15.1', 'node-20.19': '20.19.0', 'node-22.11': '22.11.0', 'node-24': '24.21.0' }
const PACKAGES = {
  ...Object.fromEntries(
    Object.entries(NODES).map(([name, version]) => [name, `npm:node-linux-${process.arch}@${version}`]),
  ),
  bun: `npm:@oven/bun-linux-${process.arch === 'arm64' ? 'aarch64' : 'x64'}@^1`,
  ...{ deno: '^2', jest: '^29', vitest: '^4', esbuild: '*', webpack: '^5', 'webpack-cli': '*', rolldown: '^1' },
  ...{ 'serverless-http': '*', express: '^5', koa: '*', pg: '^8', mongodb: '^7' },
}

/** Verifies a delivery as bytes and as text, and refuses a tampered one; loads the other library. Throws if anything is wrong. */
const CHECK = `
const body = JSON.stringify({ id: 'evt_1', type: 'customer.created', created: 1, livemode: true, data: { object: { id: 'cus_1' } } })
const secrets = 'whsec_abcdefghijklmnop1234567890'
const time = Math.floor(Date.now() / 1000)
const headers = { 'stripe-signature': 't=' + time + ',v1=' + createHmac('sha256', secrets).update(time + '.' + body).digest('hex') }
async function check() {
  const verifier = createVerifier({ scheme: 'stripe', secrets })
  const bytes = new TextEncoder().encode(body)
  const outcomes = []
  for (const rawBody of [body, Buffer.from(body), bytes, bytes.buffer, body + ' ']) {
    outcomes.push((await verifier.verify({ rawBody, headers })).outcome)
  }
  const right = 'verified,verified,verified,verified,refused'
  if (outcomes.join() !== right || typeof postgres !== 'function') throw new Error(outcomes.join())
  const options = { name: 'a', store: postgres({ on() {} }), secrets: 'whsec_' + btoa('a secret of thirty-two bytes....'), on: {} }
  if (typeof createHandler(options).fetch !== 'function') throw new Error('no handler')
  if (!(new Refusal('later', 'a') instanceof Error)) throw new Error('no refusal')
}
`
const LOADED = [
  ['{ createHmac }', 'node:crypto'],
  ['{ createVerifier }', '@oncehook/webhooks'],
  ['{ createHandler, Refusal }', '@oncehook/handler'],
  ['{ postgres }', '@oncehook/handler/postgres'],
] as const
const IMPORT = LOADED.map(([names, from]) => `import ${names} from '${from}'\n`).join('') + CHECK
const REQUIRE = LOADED.map(([names, from]) => `const ${names} = require('${from}')\n`).join('') + CHECK
const SAY = "check().then(() => console.log('it works'))\n"
const SERVERLESS = `
import express from 'express'
import Koa from 'koa'
import serverless from 'serverless-http'
import { expressWebhook } from '@oncehook/webhooks/express'
import { koaWebhook } from '@oncehook/webhooks/koa'
${IMPORT}
const verifier = createVerifier({ scheme: 'stripe', secrets })
const apps = [express().all('/w', expressWebhook(verifier, () => {})), new Koa().use(koaWebhook(verifier, () => {}))]
const text = { body, isBase64Encoded: false }
const base64 = { body: Buffer.from(body).toString('base64'), isBase64Encoded: true }
for (const app of apps) for (const sent of [text, base64]) {
  const second = { version: '2.0', rawPath: '/w', headers, requestContext: { http: { method: 'POST', path: '/w' } }, ...sent }
  const first = { httpMethod: 'POST', path: '/w', headers, multiValueHeaders: {}, requestContext: {}, ...sent }
  for (const event of [first, second]) {
    const { statusCode } = await serverless(app)(event, {})
    if (statusCode !== 200) throw new Error('status ' + statusCode)
  }
}
console.log('it works')
`
const FILES = {
  'import.mjs': IMPORT + SAY,
  'require.cjs': REQUIRE + SAY,
  'jest.test.js': `${REQUIRE}test('it works', check)\n`,
  'vitest.spec.mjs': `import { test } from 'vitest'\n${IMPORT}test('it works', check)\n`,
  'serverless.mjs': SERVERLESS,
}

/** A row of the table: commands, the last of which says that it works. */
type Row = readonly [title: string, ...commands: (readonly string[])[]]

function rowsIn(folder: string): readonly Row[] {
  const bin = (name: string): string => join(folder, 'node_modules/.bin', name)
  const node = join(folder, 'node_modules/node-24/bin/node')
  const runtimes: [title: string, ...command: string[]][] = [
    ...Object.keys(NODES).map((name): [string, string] => [name, join(folder, 'node_modules', name, 'bin/node')]),
    ['bun', join(folder, 'node_modules/bun/bin/bun')],
    ['deno', bin('deno'), 'run', '--allow-all'],
  ]
  return [
    ...runtimes.flatMap(([title, ...command]) =>
      ['import.mjs', 'require.cjs'].map((source): Row => [`${title}, ${source}`, [...command, source]]),
    ),
    ['jest', [node, bin('jest'), 'jest.test.js', '--verbose']],
    ['vitest', [node, bin('vitest'), 'run', 'vitest.spec.mjs', '--reporter=verbose']],
    ['serverless-http with express and koa', [node, 'serverless.mjs']],
    // esbuild cannot bundle CommonJS that requires a module of Node.js, as this program does, as ES modules.
    ...bundlesOf('import.mjs', { format: 'esm', end: 'mjs', node, bin }),
    ...bundlesOf('import.mjs', { format: 'cjs', end: 'cjs', node, bin }),
    ...bundlesOf('require.cjs', { format: 'cjs', end: 'cjs', node, bin }),
  ]
}

interface Bundling {
  readonly format: string
  /** What its file ends with. */
  readonly end: string
  readonly node: string
  readonly bin: (name: string) => string
}

function bundlesOf(source: string, { format, end, node, bin }: Bundling): readonly Row[] {
  const fileOf = (bundler: string): string => `${bundler}-${source}.${end}`
  const commands = {
    esbuild: [
      ...[bin('esbuild'), source, '--bundle', '--platform=node', '--external:pg', '--external:mongodb'],
      ...['--log-level=error', `--format=${format}`, `--outfile=out/${fileOf('esbuild')}`],
    ],
    rolldown: [
      ...[node, bin('rolldown'), source, '--platform', 'node', '--external', 'pg', '--external', 'mongodb'],
      ...['--format', format, '--file', `out/${fileOf('rolldown')}`],
    ],
    webpack: [
      ...[node, bin('webpack'), '--mode', 'production', '--target', 'node', '--entry', `./${source}`],
      ...['--output-path', 'out', '--output-filename', fileOf('webpack')],
    ],
  }
  return Object.entries(commands)
    .filter(([bundler]) => bundler !== 'webpack' || format === 'cjs')
    .map(([bundler, command]): Row => [`${bundler} ${format}, ${source}`, command, [node, `out/${fileOf(bundler)}`]])
}

async function verdictOf(folder: string, commands: readonly (readonly string[])[]): Promise<string> {
  let said = ''
  for (const [command = '', ...args] of commands) {
    try {
      const { stdout, stderr } = await run(command, args, { cwd: folder, env: { ...process.env, CI: 'true' } })
      said = stdout + stderr
    } catch (error) {
      const text = stripVTControlCharacters((error as { stderr?: string }).stderr || String(error))
      return `FAILS: ${(/^.*error.*$/im.exec(text)?.[0] ?? text).trim().slice(0, 150)}`
    }
  }
  return said.includes('it works') ? 'works' : `FAILS: it said ${said.slice(0, 150)}`
}

await using temporary = await mkdtempDisposable(join(tmpdir(), 'oncehook-runtimes-'))
const folder = join(temporary.path, 'project')
await mkdir(folder)
const tarballs: string[] = []
for (const build of [buildWebhooks, buildHandler]) {
  const built = join(temporary.path, build.name)
  await build(repository, built)
  tarballs.push((await packFolder(built, temporary.path)).file)
}
for (const [name, text] of Object.entries(FILES)) await writeFile(join(folder, name), text)
const manifest = { private: true, devDependencies: PACKAGES }
await writeFile(join(folder, 'package.json'), JSON.stringify(manifest))
console.log('Installing the runtimes from the npm registry …')
await run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', ...tarballs], { cwd: folder })
for (const [title, ...commands] of rowsIn(folder)) {
  const verdict = await verdictOf(folder, commands)
  console.log(`| ${title.padEnd(36)} | ${verdict} |`)
  if (verdict !== 'works') process.exitCode = 1
}
