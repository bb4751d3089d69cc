import type { LaterMessage } from '@oncehook/handler'

/**
 * Instead of sending a mail, prints it. It runs after the commit, and again with the same key if the process dies meanwhile: give the key to
 * your mail service as the idempotency key.
 */
export async function printFarewell({ key, payload }: LaterMessage): Promise<void> {
  const { customer } = payload as { customer: string }
  console.log(`Mail to ${customer}: your subscription has ended (idempotency key ${key})`)
}
