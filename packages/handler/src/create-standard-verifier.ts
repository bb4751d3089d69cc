import { createVerifier, type Verifier, VerifierSettingsError } from '@oncehook/webhooks'
import { type HandlerOptions, HandlerSettingsError } from './handler-options.ts'

/**
 * Creates the verifier of Standard Webhooks from the options of a handler.
 * @throws HandlerSettingsError
 */
export function createStandardVerifier(
  { secrets = [], toleranceSeconds = 300 }: Pick<HandlerOptions<never>, 'secrets' | 'toleranceSeconds'>,
  now: () => number,
): Verifier {
  try {
    return createVerifier({ scheme: 'standard-webhooks', effects: [], secrets, toleranceSeconds }, { now })
  } catch (error) {
    if (!(error instanceof VerifierSettingsError)) throw error
    throw new HandlerSettingsError(error.problems)
  }
}
