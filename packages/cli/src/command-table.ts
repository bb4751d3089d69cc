import type { AddCommand } from './command.ts'
import { addSendCommand } from './commands/send.ts'
import { addSignCommand } from './commands/sign.ts'

/** Every command of `oncehook`. A new one is a file in `commands/` and a line here. */
export const commandTable: readonly AddCommand[] = [addSendCommand, addSignCommand]
