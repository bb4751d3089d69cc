import type { AddCommand } from '../command.ts'
import { explainGiven } from '../explain/explain-given.ts'
import { addDeliveryCommand } from '../verify/add-delivery-command.ts'

/** `oncehook explain`: finds out why the gateway refuses a delivery. */
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
