// `oncehook explain`: for a delivery that is refused, the corrections that would make the gateway accept it; for one that is
// accepted, its effects: who gets a task of it, and who does not and why.

import { SCHEMES } from '@oncehook/webhooks/providers'
import { type AddCommand, type CliContext, CommandFailure } from '../command.ts'
import {
  describeMapping,
  describeTasks,
  describeWithheld,
  type ExplainedTasks,
  findTasks,
  findWithheld,
  type HandlerWishes,
  type InvalidBody,
  readExplainedEvents,
  readWishes,
  type Withheld,
} from '../explain/effects.ts'
import { type Explanation, explainDelivery } from '../explain/explain-delivery.ts'
import { toPrintable } from '../output.ts'
import { addDeliveryCommand, type DeliveryFinding, type DeliveryOptions } from '../verify/given-delivery.ts'
import { describeSettings, type GivenCase, readGiven, UNCONFIRMED } from '../verify/known-providers.ts'

export const addExplainCommand: AddCommand = (program, deps) =>
  addDeliveryCommand(program, deps, {
    name: 'explain',
    description:
      'Find out why a delivery is refused, or which handlers get a task of it; never prints the expected signature.',
    options: [
      ['--handlers-file <path>', 'file with the handlers, as in HANDLERS_FILE (default: HANDLERS_FILE or HANDLERS)'],
    ],
    examine: explainGiven,
  })

interface GivenExplanation extends Explanation {
  readonly provider: string
  readonly scheme: string
  /** Where the settings and secrets come from. */
  readonly settings: string
  /** Why the accepted delivery would have no effect. */
  readonly withheld: readonly Withheld[]
  /** Who gets a task of each of its events. Null if the settings name no handlers. */
  readonly tasks: readonly ExplainedTasks[] | null
  /** Why the gateway answers 400 although the signature holds. */
  readonly invalid: InvalidBody | null
  /** Whether the gateway asks the provider before the event counts. */
  readonly isConfirmed: boolean
  /** What the pointers of the settings find. */
  readonly found: readonly string[]
}

async function explainGiven(
  file: string | undefined,
  options: DeliveryOptions,
  context: CliContext,
): Promise<DeliveryFinding> {
  const given = await readGiven(file, options, context)
  const { name: provider, settings } = given.asked
  if (SCHEMES.get(settings.scheme)?.fetchesKeys?.(settings) === true) {
    // Each attempt would fetch it again.
    const what = settings.scheme === 'plaid' ? 'key into the setting keys' : 'certificate into the setting certificates'
    throw new CommandFailure(`Put the ${what}: explain needs it many times`)
  }
  const explanation = await explainDelivery(given, options.url)
  const effects =
    explanation.acceptedBy === null
      ? NO_EFFECTS
      : await findEffects(given, await readWishes(options.handlersFile, context))
  const found = { ...explanation, ...effects, provider, scheme: settings.scheme, settings: given.place }
  const isAccepted = found.acceptedBy !== null && found.invalid === null
  return {
    isAccepted,
    lines: [describeSettings(given.place), ...describe(found)],
    document: { result: isAccepted ? 'accepted' : 'refused', ...found },
  }
}

type Effects = Pick<GivenExplanation, 'withheld' | 'tasks' | 'found' | 'invalid' | 'isConfirmed'>

const NO_EFFECTS: Effects = { withheld: [], tasks: null, found: [], invalid: null, isConfirmed: false }

async function findEffects(given: GivenCase, wishes: HandlerWishes | null): Promise<Effects> {
  const reading = await readExplainedEvents(given)
  if ('invalid' in reading) return { ...NO_EFFECTS, invalid: reading.invalid }
  const { events, isConfirmed } = reading
  return {
    ...{ invalid: null, isConfirmed },
    withheld: findWithheld(events, given),
    tasks: wishes === null ? null : findTasks(wishes, given, events),
    found: describeMapping(given.asked.settings, events, given.delivery.rawBody),
  }
}

function describe(explanation: GivenExplanation): string[] {
  const { provider, scheme, acceptedBy, causes, tried, invalid } = explanation
  if (invalid !== null) {
    return [
      `Refused by ${provider} (${scheme}), although the signature holds: ${invalid.message} (${invalid.code})`,
      `  ${invalid.fix}`,
    ]
  }
  if (acceptedBy !== null) return describeAccepted(explanation, acceptedBy)
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

function describeAccepted(explanation: GivenExplanation, secretId: string): string[] {
  const { provider, scheme, withheld, tasks, found, isConfirmed } = explanation
  const who = `Accepted by ${provider} (${scheme}), secret ${toPrintable(secretId)}`
  const effects = [
    ...(isConfirmed ? [UNCONFIRMED] : []),
    ...found,
    ...withheld.flatMap(describeWithheld),
    ...describeTasks(tasks ?? []),
  ]
  return effects.length === 0 ? [`${who}: nothing to explain`] : [who, ...effects]
}
