// `oncehook keys`: makes the key pair of service tokens, and exchanges it without a refused call. The folder has three files: the
// private key of the gateway, the public keys of everybody else, and during an exchange the next private key. Each step names what must
// have reached the services before the next one; an interrupted step is repeated.

import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parsePrivateKey, parsePublicKeys } from '@oncehook/kernel/secrets/service-key-pem'
import { Option } from 'commander'
import { type AddCommand, CommandFailure } from '../command.ts'
import { writeLines } from '../output.ts'

const PRIVATE = 'service-private-key.pem'
const NEXT = 'service-private-key-next.pem'
const PUBLIC = 'service-public-keys.pem'

const ROTATE_HELP = `
Three steps, in this order, each repeated if it was interrupted. Before a step, the files of the one before it must be everywhere.
  --step 1  makes the next key, and adds its public key to ${PUBLIC}: then give this file to fulfilment and to every
            handler called by trpc
  --step 2  makes the next key the one in ${PRIVATE}: then give this file to every gateway
  --step 3  leaves only the public key of ${PRIVATE} in ${PUBLIC}: then give this file to fulfilment and the
            handlers
The services read changed files within about a second. Handlers read them at their start.`

export const addKeysCommands: AddCommand = (program, { context }) => {
  const group = program.command('keys').description('Make and exchange the keys of calls between the services.')
  group
    .command('new')
    .description('Make the key pair with which the gateway proves to fulfilment and handlers who calls.')
    .argument('<folder>', 'where to write the files; it is made if it does not exist')
    .action(async (folder: string) => {
      const own = join(folder, PRIVATE)
      await mkdir(folder, { recursive: true })
      if (existsSync(own)) throw new CommandFailure(`${own} exists already: oncehook keys rotate exchanges it`)
      const key = newKey()
      await replace(join(folder, PUBLIC), publicTextOf([key]))
      await writePrivate(own, key)
      writeLines(context, [
        `SERVICE_PRIVATE_KEY_FILE=${own}   the gateway only`,
        `SERVICE_PUBLIC_KEYS_FILE=${join(folder, PUBLIC)}   fulfilment, and each handler called by trpc`,
      ])
    })
  group
    .command('rotate')
    .description('Exchange the key pair in three steps, without a refused call.')
    .argument('<folder>', 'the folder with the files of `keys new`')
    .addOption(new Option('--step <number>', 'the step').choices(['1', '2', '3']).makeOptionMandatory())
    .addHelpText('after', ROTATE_HELP)
    .action(async (folder: string, { step }: { readonly step: '1' | '2' | '3' }) => {
      const own = await readPrivate(join(folder, PRIVATE))
      if (own === null) throw new CommandFailure(`${join(folder, PRIVATE)} cannot be read: see oncehook keys new`)
      writeLines(context, [await STEPS[step](folder, own)])
    })
}

/** Each step can be repeated. Resolves to what is to be done now. */
const STEPS = {
  async '1'(folder: string, own: KeyObject): Promise<string> {
    const next = (await readPrivate(join(folder, NEXT))) ?? newKey()
    await writePrivate(join(folder, NEXT), next)
    await replace(join(folder, PUBLIC), publicTextOf([own, next]))
    return `${PUBLIC} has both keys. Give it to fulfilment and every handler called by trpc; then comes --step 2.`
  },
  async '2'(folder: string): Promise<string> {
    const next = await readPrivate(join(folder, NEXT))
    if (next !== null) {
      const keys = await readPublic(join(folder, PUBLIC))
      const isKnown = keys.some((known) => createPublicKey(next).equals(known))
      if (!isKnown) throw new CommandFailure(`${PUBLIC} does not have the next key: --step 1 comes first`)
      await rename(join(folder, NEXT), join(folder, PRIVATE))
    }
    return `${PRIVATE} is the next key. Give it to every gateway; then comes --step 3.`
  },
  async '3'(folder: string, own: KeyObject): Promise<string> {
    if ((await readPrivate(join(folder, NEXT))) !== null) throw new CommandFailure('--step 2 comes first')
    await replace(join(folder, PUBLIC), publicTextOf([own]))
    return `${PUBLIC} has the new key only. Give it to fulfilment and the handlers; then the exchange is over.`
  },
} as const

function newKey(): KeyObject {
  return generateKeyPairSync('ed25519').privateKey
}

function publicTextOf(keys: readonly KeyObject[]): string {
  return keys.map((key) => createPublicKey(key).export({ type: 'spki', format: 'pem' })).join('')
}

async function writePrivate(path: string, key: KeyObject): Promise<void> {
  await replace(path, String(key.export({ type: 'pkcs8', format: 'pem' })), 0o600)
}

/** So that no reader sees half of a file. */
async function replace(path: string, text: string, mode = 0o644): Promise<void> {
  await rm(`${path}.new`, { force: true })
  await writeFile(`${path}.new`, text, { mode, flag: 'wx' })
  await rename(`${path}.new`, path)
}

async function readPrivate(path: string): Promise<KeyObject | null> {
  const text = await readFile(path, 'utf8').catch(() => null)
  if (text === null) return null
  const key = parsePrivateKey(text)
  if (typeof key === 'string') throw new CommandFailure(`${path} ${key}`)
  return key
}

async function readPublic(path: string): Promise<readonly KeyObject[]> {
  const keys = parsePublicKeys(await readFile(path, 'utf8').catch(() => ''))
  if (typeof keys === 'string') throw new CommandFailure(`${path} ${keys}`)
  return keys
}
