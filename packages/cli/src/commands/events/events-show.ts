import { addToGroup } from '../../add-to-group.ts'
import type { CliContext } from '../../cli-context.ts'
import type { AddCommand } from '../../command.ts'
import { connectOperator } from '../../operator/connect-operator.ts'
import { describeEvent, type EventDetails, toEventDocument } from '../../operator/describe-event.ts'
import { maskCardNumbers } from '../../operator/mask-card-numbers.ts'
import { ask } from '../../operator/operator-client.ts'
import { addOperatorOptions, type OperatorOptions } from '../../operator/operator-options.ts'
import { toPrintable, writeJson, writeLines } from '../../output.ts'

interface Options extends OperatorOptions {
  readonly raw?: boolean
  readonly verify?: boolean
}

/** `oncehook events show`: shows an event with its attempts, its replays and, if requested, its body. */
export const addEventsShowCommand: AddCommand = (program, { context, finish }) => {
  const command = addToGroup(program, 'events', 'show')
    .description('Show one event with its attempts and replays.')
    .argument('<id>', 'event id, as printed by `events list`')
    .option(
      '--raw',
      'print only the body; with --json, add it as `raw` (base64); needs the role `bodies`, and is recorded in the audit log',
    )
    .option('--verify', 'also verify the stored bytes with the secrets, as of the time of receipt')
    .action(async (id: string, options: Options) => finish(await showEvent(id, options, context)))
  addOperatorOptions(command)
}

async function showEvent(id: string, options: Options, context: CliContext): Promise<0 | 1> {
  const client = await connectOperator(options, context)
  const event = await ask(client.events.get.query(options.raw === true ? { id, body: true } : { id }))
  const verified = options.verify ? await ask(client.events.reverify.query({ id })) : null
  if (options.json) {
    writeJson(context, toEventDocument(event, verified))
  } else if (options.raw) writeBody(event, context)
  else writeLines(context, describeEvent(event, verified))
  return verified?.valid === false ? 1 : 0
}

/** Writes the exact bytes to a file or a pipe. A terminal gets no control characters and no card numbers. */
function writeBody({ raw }: EventDetails, { write, writesToTerminal }: CliContext): void {
  const body = Buffer.from(raw ?? '', 'base64')
  if (!writesToTerminal) write(body)
  else for (const line of body.toString().split('\n')) write(`${toPrintable(maskCardNumbers(line))}\n`)
}
