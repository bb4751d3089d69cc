import { fork } from 'node:child_process'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { nextMessage } from '../../next-message.ts'
import { endChild } from '../end-child.ts'
import type { StartReceiver } from '../receiver.ts'

/** Starts node:http with the signature check and no store at all. It promises nothing, so nothing can be lost. */
export const startBare: StartReceiver = async ({ secret, nodeFlags }) => {
  const child = fork(fileURLToPath(import.meta.resolve('./bare-process.ts')), {
    execArgv: [...nodeFlags],
    env: { ...process.env, NODE_ENV: 'production', BARE_SECRET: secret },
  })
  const { port } = (await nextMessage(child)) as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/webhooks`,
    receiverPid: child.pid ?? 0,
    keptOf: async (eventIds) => new Set(eventIds),
    [Symbol.asyncDispose]: () => endChild(child),
  }
}
