import type { CliContext } from '../cli-context.ts'
import { CommandFailure } from '../exit-code.ts'
import { toPrintable } from '../output.ts'
import type { DeliveryFinding } from '../verify/add-delivery-command.ts'
import type { DeliveryOptions } from '../verify/delivery-options.ts'
import { readGiven } from '../verify/verify-given.ts'
import { type Explanation, explainDelivery } from './explain-delivery.ts'
import { describeWithheld, findWithheld, type Withheld } from './find-withheld.ts'

/** An explanation with its provider. */
interface GivenExplanation extends Explanation {
  readonly provider: string
  readonly scheme: string
  /** Why the accepted delivery would have no effect. */
  readonly withheld: readonly Withheld[]
}

/**
 * Explains the delivery in the options, for `oncehook explain`.
 * @throws UsageError
 * @throws CommandFailure if a required certificate cannot be fetched
 */
export async function explainGiven(
  file: string | undefined,
  options: DeliveryOptions,
  context: CliContext,
): Promise<DeliveryFinding> {
  const given = await readGiven(file, options, context)
  const { name: provider, settings } = given.asked
  if (settings.scheme === 'paypal' && !('certificates' in settings)) {
    // Each attempt would fetch it again.
    throw new CommandFailure('Put the PayPal certificate into the setting certificates: explain needs it many times')
  }
  const explanation = await explainDelivery(given, options.url)
  const withheld = explanation.acceptedBy === null ? [] : await findWithheld(given)
  const found = { ...explanation, provider, scheme: settings.scheme, withheld }
  return { isAccepted: found.acceptedBy !== null, lines: describe(found), document: toDocument(found) }
}

function describe(explanation: GivenExplanation): string[] {
  const { provider, scheme, acceptedBy, causes, tried, withheld } = explanation
  if (acceptedBy !== null) {
    const who = `Accepted by ${provider} (${scheme}), secret ${toPrintable(acceptedBy)}`
    return withheld.length === 0 ? [`${who}: nothing to explain`] : [who, ...withheld.map(describeWithheld)]
  }
  const [first] = causes
  const how =
    first?.proved === true
      ? 'The delivery is accepted after this correction:'
      : `None of ${tried} corrections helped. Possible causes:`
  return [
    `Refused by ${provider} (${scheme})`,
    how,
    ...causes.flatMap(({ message, fix }) => [`- ${message}`, `  ${fix}`]),
  ]
}

function toDocument(explanation: GivenExplanation): object {
  const { provider, scheme, acceptedBy, causes, tried, withheld } = explanation
  return acceptedBy === null
    ? { result: 'refused', provider, scheme, causes, tried }
    : { result: 'accepted', provider, scheme, secretId: acceptedBy, ...(withheld.length > 0 && { withheld }) }
}
