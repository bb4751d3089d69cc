import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { Webhook } from 'standardwebhooks'
import { afterAll, describe, expect, it } from 'vitest'
import { buildCli } from '../../scripts/packages/build-cli.ts'
import { installPackage } from '../support/install-package.ts'
import { requireNode } from '../support/require-node.ts'

const run = promisify(execFile)
const repository = resolve(import.meta.dirname, '../..')
const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const { folder } = stack.use(await installPackage((built) => buildCli(repository, built)))

/** A handler that only verifies, with the official library. */
async function serveHandler(secret: string) {
  const webhook = new Webhook(secret)
  const server = createServer(async (request, response) => {
    const body = await text(request)
    try {
      webhook.verify(body, request.headers as Record<string, string>)
      response.writeHead(204).end()
    } catch {
      response.writeHead(401).end()
    }
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    },
  }
}

describe('the packed @oncehook/cli', () => {
  it('brings oncehook to npx', async () => {
    const { stdout } = await run('npx', ['--offline', '--no', '--', 'oncehook', '--help'], { cwd: folder })
    expect(stdout).toContain('Usage: oncehook')
    const installed = join(folder, 'node_modules/@oncehook/cli')
    const manifest = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'))
    expect(Object.keys(manifest).filter((name) => /dependencies|private|scripts/i.test(name))).toEqual([])
  })

  it.for([20, 22, 24])('verifies what it signs, on Node.js %i', async (major, context) => {
    const node = await requireNode(major, context)
    await writeFile(join(folder, 'secret'), 'whsec_0123456789abcdef')
    await writeFile(
      join(folder, 'body.json'),
      '{"id":"evt_1","type":"payment.succeeded","data":{"object":{"id":"pay_1"}}}',
    )
    const oncehook = (...args: string[]) =>
      run(node, ['node_modules/.bin/oncehook', ...args, '--scheme', 'stripe', '--secret-file', 'secret', 'body.json'], {
        cwd: folder,
      })
    const signed = await oncehook('sign', '--json')
    const lines = Object.entries<string>(JSON.parse(signed.stdout).headers).flatMap(([name, value]) => [
      ...['--header', `${name}: ${value}`],
    ])
    const { stdout } = await oncehook('verify', '--json', ...lines)
    expect(JSON.parse(stdout)).toMatchObject({ result: 'accepted' })
    await writeFile(join(folder, 'body.json'), '{"id":"evt_2"}')
    await expect(oncehook('verify', ...lines)).rejects.toMatchObject({ code: 1 })
  })

  it.for([20, 22, 24])('checks a handler against the contract, on Node.js %i', async (major, context) => {
    const node = await requireNode(major, context)
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
    await writeFile(join(folder, 'secret'), secret)
    await using handler = await serveHandler(secret)
    const verify = (...more: string[]) => {
      const args = ['node_modules/.bin/oncehook', 'contract', 'verify', '--secret-file', 'secret', '--json', ...more]
      return run(node, args, { cwd: folder })
    }
    const { stdout } = await verify('--handler', handler.url)
    const { result, interactions } = JSON.parse(stdout)
    expect(result).toBe('kept')
    expect(interactions.filter((one: { result: string }) => one.result === 'ok').length).toBeGreaterThan(10)
    await writeFile(join(folder, 'secret'), `whsec_${Buffer.alloc(32, 8).toString('base64')}`)
    await expect(verify('--handler', handler.url)).rejects.toMatchObject({ code: 1 })
  })
})
