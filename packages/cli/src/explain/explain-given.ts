import type { CliContext } from '../cli-context.ts'
import { CommandFailure } from '../exit-code.ts'
import { toPrintable } from '../output.ts'
import type { DeliveryFinding } from '../verify/add-delivery-command.ts'
import type { DeliveryOptions } from '../verify/delivery-options.ts'
import { describeSettings, type GivenCase, readGiven } from '../verify/verify-given.ts'
import { describeMapping } from './describe-mapping.ts'
import { type Explanation, explainDelivery } from './explain-delivery.ts'
import { describeTasks, type ExplainedTasks, findTasks, type HandlerWishes, readWishes } from './find-tasks.ts'
import { describeWithheld, findWithheld, type Withheld } from './find-withheld.ts'
import { readExplainedEvents } from './read-explained-events.ts'

/** An explanation with its provider. */
interface GivenExplanation extends Explanation {
  readonly provider: string
  readonly scheme: string
  /** Where the settings and secrets come from. */
  readonly place: string
  /** Why the accepted delivery would have no effect. */
  readonly withheld: readonly Withheld[]
  /** Who gets a task of each of its events. Null if the settings name no handlers. */
  readonly tasks: readonly ExplainedTasks[] | null
  /** What the pointers of the settings find. */
  readonly found: readonly string[]
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
  const effects =
    explanation.acceptedBy === null
      ? { withheld: [], tasks: null, found: [] }
      : await findEffects(given, await readWishes(options.handlersFile, context))
  const found = { ...explanation, ...effects, provider, scheme: settings.scheme, place: given.place }
  return {
    isAccepted: found.acceptedBy !== null,
    lines: [describeSettings(given.place), ...describe(found)],
    document: toDocument(found),
  }
}

async function findEffects(
  given: GivenCase,
  wishes: HandlerWishes | null,
): Promise<Pick<GivenExplanation, 'withheld' | 'tasks' | 'found'>> {
  const events = await readExplainedEvents(given)
  const accepted = { provider: given.asked.name, rawBody: given.delivery.rawBody, events }
  return {
    withheld: findWithheld(events, given),
    tasks: wishes === null ? null : findTasks(wishes, accepted),
    found: describeMapping(given.asked.settings, events, given.delivery.rawBody),
  }
}

function describe(explanation: GivenExplanation): string[] {
  const { provider, scheme, acceptedBy, causes, tried, withheld, tasks, found } = explanation
  if (acceptedBy !== null) {
    const who = `Accepted by ${provider} (${scheme}), secret ${toPrintable(acceptedBy)}`
    const effects = [...found, ...withheld.flatMap(describeWithheld), ...describeTasks(tasks ?? [])]
    return effects.length === 0 ? [`${who}: nothing to explain`] : [who, ...effects]
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
  const { provider, scheme, place: settings, acceptedBy: secretId, causes, tried, withheld, tasks, found } = explanation
  if (secretId === null) return { result: 'refused', provider, scheme, settings, causes, tried }
  const effects = {
    ...(withheld.length > 0 && { withheld }),
    ...(tasks !== null && { tasks }),
    ...(found.length > 0 && { found }),
  }
  return { result: 'accepted', provider, scheme, settings, secretId, ...effects }
}
