import type { CliContext } from '../cli-context.ts'
import { CommandFailure } from '../exit-code.ts'
import { toPrintable } from '../output.ts'
import type { DeliveryOptions } from '../verifying/delivery-options.ts'
import { readGiven } from '../verifying/judge-given.ts'
import { type Explanation, explainDelivery } from './explain-delivery.ts'

/** An explanation, and of whom. */
export interface GivenExplanation extends Explanation {
  readonly provider: string
  readonly scheme: string
}

/**
 * Explains the delivery that the options name.
 * @throws UsageError
 * @throws CommandFailure when something cannot be fetched that is needed to judge
 */
export async function explainGiven(
  file: string | undefined,
  options: DeliveryOptions,
  context: CliContext,
): Promise<GivenExplanation> {
  const given = await readGiven(file, options, context)
  const { name: provider, settings } = given.asked
  if (settings.scheme === 'paypal' && !('certificates' in settings)) {
    // Every try would fetch it anew.
    throw new CommandFailure('Name the certificate of PayPal in the setting certificates: it is needed for many tries')
  }
  return { ...(await explainDelivery(given, options.url)), provider, scheme: settings.scheme }
}

/** What `explain` prints. */
export function describeExplanation({ provider, scheme, acceptedBy, causes, tried }: GivenExplanation): string[] {
  if (acceptedBy !== null) {
    return [`Accepted by ${provider} (${scheme}), secret ${toPrintable(acceptedBy)}: there is nothing to explain`]
  }
  const [first] = causes
  const how =
    first?.proved === true
      ? 'With this put right it is accepted:'
      : `None of ${tried} ways to put it right was accepted. What may be wrong:`
  return [`Refused by ${provider} (${scheme})`, how, ...causes.flatMap(({ says, fix }) => [`- ${says}`, `  ${fix}`])]
}

/** What `explain --json` prints. */
export function toExplanationDocument({ provider, scheme, acceptedBy, causes, tried }: GivenExplanation): object {
  return acceptedBy === null
    ? { result: 'refused', provider, scheme, causes, tried }
    : { result: 'accepted', provider, scheme, secretId: acceptedBy }
}
