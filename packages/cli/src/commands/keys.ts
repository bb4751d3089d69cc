// `oncehook keys`: makes the key pair of service tokens, and exchanges it without a refused call. The folder has three files: the
// private key of the gateway, the public keys of everybody else, and during an exchange the next private key. What step comes next
// follows from the files alone, so an interrupted command is repeated.

import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { access, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parsePrivateKey, parsePublicKeys } from '@oncehook/kernel/secrets/service-key-pem'
import { type AddCommand, addToGroup, CommandFailure } from '../command.ts'
import { writeLines } from '../output.ts'

const PRIVATE = 'service-private-key.pem'
const NEXT = 'service-private-key-next.pem'
const PUBLIC = 'service-public-keys.pem'

const ROTATE_HELP = `
Three steps, each by the same command:
1. It makes the next key, and adds its public key to ${PUBLIC}. Give this file to fulfilment and to every handler called by trpc.
2. It replaces ${PRIVATE}. Give this file to every gateway.
3. It removes the former public key from ${PUBLIC}. Give this file to fulfilment and to the handlers.
The services read changed files within about a second. Handlers read them at their start.`

export const addKeysNewCommand: AddCommand = (program, { context }) => {
  addToGroup(program, 'keys', 'new')
    .description('Make the key pair with which the gateway proves to fulfilment and handlers who calls.')
    .argument('<folder>', 'where to write the files; it is made if it does not exist')
    .action(async (folder: string) => {
      await mkdir(folder, { recursive: true })
      for (const name of [PRIVATE, PUBLIC]) await refuseExisting(join(folder, name))
      const key = newKey()
      await writePrivate(join(folder, PRIVATE), key)
      await writeFile(join(folder, PUBLIC), publicTextOf([key]))
      writeLines(context, [
        `SERVICE_PRIVATE_KEY_FILE=${join(folder, PRIVATE)}   the gateway only`,
        `SERVICE_PUBLIC_KEYS_FILE=${join(folder, PUBLIC)}   fulfilment, and each handler called by trpc`,
      ])
    })
}

export const addKeysRotateCommand: AddCommand = (program, { context }) => {
  addToGroup(program, 'keys', 'rotate')
    .description('Do the next step of an exchange of the key pair.')
    .argument('<folder>', 'the folder with the files of `keys new`')
    .addHelpText('after', ROTATE_HELP)
    .action(async (folder: string) => writeLines(context, [await rotate(folder)]))
}

/** Does the next step. Resolves to what was done, and what to do before the next one. */
async function rotate(folder: string): Promise<string> {
  const [own, next] = [await readPrivate(join(folder, PRIVATE)), await readPrivate(join(folder, NEXT))]
  if (own === null) throw new CommandFailure(`${join(folder, PRIVATE)} cannot be read: see oncehook keys new`)
  const keys = await readPublic(join(folder, PUBLIC))
  const has = (key: KeyObject): boolean => keys.some((known) => createPublicKey(key).equals(known))
  if (next !== null && has(next)) {
    await rename(join(folder, NEXT), join(folder, PRIVATE))
    return `Step 2 of 3: ${PRIVATE} is the next key. Give it to every gateway; then run this again.`
  }
  if (next === null && keys.length > 1) {
    await replace(join(folder, PUBLIC), publicTextOf([own]))
    return `Step 3 of 3: ${PUBLIC} has the new key only. Give it to fulfilment and the handlers; the exchange is over.`
  }
  const made = next ?? newKey()
  if (next === null) await writePrivate(join(folder, NEXT), made)
  await replace(join(folder, PUBLIC), publicTextOf([own, made]))
  return `Step 1 of 3: ${PUBLIC} has both keys. Give it to fulfilment and every handler; then run this again.`
}

function newKey(): KeyObject {
  return generateKeyPairSync('ed25519').privateKey
}

function publicTextOf(keys: readonly KeyObject[]): string {
  return keys.map((key) => createPublicKey(key).export({ type: 'spki', format: 'pem' })).join('')
}

async function writePrivate(path: string, key: KeyObject): Promise<void> {
  await writeFile(path, key.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600, flag: 'wx' })
}

/** So that no reader sees half of a file. */
async function replace(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text)
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

async function refuseExisting(path: string): Promise<void> {
  const exists = await access(path).then(
    () => true,
    () => false,
  )
  if (exists) throw new CommandFailure(`${path} exists already: oncehook keys rotate exchanges it`)
}
