import type { LaterMessage } from '@oncehook/handler'

/**
 * Instead of sending a mail, prints it. It runs after the commit, and again with the same key if the process dies meanwhile:
 * give the key to your mail service as the idempotency key.
 */
export async function printConfirmation({ key, payload }: LaterMessage): Promise<void> {
  const { order, email } = payload as { order: string; email: string }
  console.log(`Mail to ${email}: ${order} is paid (idempotency key ${key})`)
}
