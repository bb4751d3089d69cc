import type { Cause, PossibleCause } from '@oncehook/webhooks/providers'

/** The cause of a signature that was made with a secret which has expired. */
export function endedSecret(id: string): PossibleCause {
  return {
    cause: 'secret_ended',
    message: `It is signed with the secret ${id}, which has expired (notAfter)`,
    fix: 'Switch the provider to the new secret, or extend notAfter',
  }
}

/** The cause of a signature that was made with a secret of another provider. */
export function wrongProvider(asked: string, other: string): PossibleCause {
  return {
    cause: 'wrong_provider',
    message: `It is signed with a secret of the provider ${other}, not of ${asked}`,
    fix: `Deliver it to /api/webhooks/${other}, or check whether test and live are mixed up`,
  }
}

/** Returns the proved causes. If there are none, returns all possible causes, and "another secret" if none of them is clear. */
export function rankCauses(proved: readonly Cause[], seen: readonly Cause[], scheme: string): Cause[] {
  if (proved.length > 0) return [...proved]
  // A body from a test environment or an old time is rarely the only cause.
  const clear = seen.filter(({ cause }) => cause !== 'test_mode' && cause !== 'clock')
  if (clear.length > 0) return [...seen]
  const unknown: Cause = {
    cause: 'unknown',
    proved: false,
    message: `The signature was made with another ${scheme} secret, or for other bytes`,
    fix: 'Compare the secret with the one that the provider shows for this URL, and the body with the one that the provider shows as sent',
  }
  return [...seen, unknown]
}
