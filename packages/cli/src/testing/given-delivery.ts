import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runCommand } from './run-command.ts'

/** The body of a delivery of Standard Webhooks that the secret of the fake gateway signs. */
export const body =
  '{"id":"evt_0001","type":"payment.succeeded","data":{"object":{"id":"pay_0001","note":"café 10 €"}}}'

/** Its header lines. */
export const headers = [
  'webhook-id: msg_0001',
  'webhook-timestamp: 1760000000',
  'webhook-signature: v1,JNszWeF+I4U+eFAOuTXBJ8C0b87vaX8QnYayGpiaEjU=',
]

/** They as arguments. */
export const signed = headers.flatMap((line) => ['-H', line])
/** The time of the signature as arguments. */
export const at = ['--now', '1760000000']

/** A folder with the files that the options name. */
export async function makeFiles(files: Readonly<Record<string, string | Buffer>>) {
  const folder = await mkdtemp(join(tmpdir(), 'oncehook-verify-'))
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content)
  return {
    path: (name: string) => join(folder, name),
    [Symbol.asyncDispose]: async () => rm(folder, { recursive: true }),
  }
}

/** Runs a command about the delivery. */
export async function run(command: 'verify' | 'explain', args: readonly string[], overrides = {}) {
  return runCommand([command, ...args], { readStdin: async () => Buffer.from(body), ...overrides })
}
