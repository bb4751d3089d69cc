import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { readUntilReady } from '../support/stack/read-until-ready.ts'

const repository = resolve(import.meta.dirname, '../..')

/** The environment of a user's terminal: no MongoDB, and free ports. */
function terminal(data: string): NodeJS.ProcessEnv {
  const { MONGODB_URI: _, ...inherited } = process.env
  return { ...inherited, ONCEHOOK_DATA: data, GATEWAY_PORT: '0', ADMIN_PORT: '0', FULFILMENT_PORT: '0' }
}

async function npmStart(data: string) {
  const args = ['scripts/bootstrap.mjs', 'scripts/start.ts']
  const child = spawn(process.execPath, args, {
    cwd: repository,
    env: terminal(data),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exit = once(child, 'exit').then(([code]) => code as number | null)
  const lines = await readUntilReady(child.stdout)
  child.stdout
    .setEncoding('utf8')
    .on('data', (text: string) => lines.push(text))
    .resume()
  const paste = lines.find((line) => line.startsWith('npm run oncehook -- send'))
  if (paste === undefined) throw new Error(`It did not start:\n${lines.join('\n')}`)
  const ctrlC = async () => {
    child.kill('SIGINT')
    return { code: await exit, said: lines.join('\n') }
  }
  return { paste, ctrlC, [Symbol.asyncDispose]: async () => void (await ctrlC()) }
}

async function pasteInto(data: string, line: string) {
  const command = `${line.replace('npm run oncehook --', 'node scripts/bootstrap.mjs packages/cli/src/main.ts')} --json`
  const { stdout } = await promisify(execFile)('sh', ['-c', command], { cwd: repository, env: terminal(data) })
  return JSON.parse(stdout)
}

async function readOrder(data: string, id: string) {
  const json = async (name: string) => JSON.parse(await readFile(join(data, name), 'utf8'))
  const [running, secrets] = await Promise.all([json('running.json'), json('secrets.json')])
  const headers = { authorization: `Bearer ${secrets.apiTokens.dev}` }
  return await (await fetch(`${running.gatewayUrl}/api/orders/${id}`, { headers })).json()
}

async function receiptLines(data: string): Promise<string[]> {
  return (await readFile(join(data, 'receipts.jsonl'), 'utf8')).trim().split('\n')
}

describe('npm start', () => {
  it('pays an order by the line it prints, once however often it is pasted, and finds it again at the next start', async () => {
    const data = await mkdtemp(join(tmpdir(), 'oncehook-npm-start-'))
    await using _folder = { [Symbol.asyncDispose]: () => rm(data, { recursive: true, force: true }) }
    await using first = await npmStart(data)
    const report = await pasteInto(data, first.paste)
    expect(report.deliveries).toMatchObject([{ status: 200, body: '{"received":true}' }])
    const { id } = report.orders[0]
    const paid = await readOrder(data, id)
    expect(paid).toMatchObject({ status: 'paid', access: 'unlocked' })
    await expect.poll(() => receiptLines(data).catch(() => [])).toHaveLength(1)

    expect(await pasteInto(data, first.paste)).toMatchObject({
      deliveries: [{ status: 200 }],
      orders: [{ changed: false }],
    })
    const { code, said } = await first.ctrlC()
    expect(code, said).toBe(0)
    expect(said).not.toContain('request.refused')

    await using _second = await npmStart(data)
    expect(await readOrder(data, id)).toEqual(paid)
    expect(await receiptLines(data)).toHaveLength(1)
  })
})
