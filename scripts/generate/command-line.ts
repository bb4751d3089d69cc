import { createProgram } from '../../packages/cli/src/run-cli.ts'
import { testContext } from '../../packages/cli/src/testing/run-command.ts'

type Command = ReturnType<typeof createProgram>

const HEAD = `<!-- Made by \`npm run fix\` from the help of the commands. -->

# Command line

In the repository: \`npm run oncehook -- <command>\`. Elsewhere: \`npx oncehook <command>\` ([install it](../../packages/cli/README.md)). How to connect to a
system, and which role a command needs: [operators](operators.md). Exit codes: 0 done, 1 refused or failed, 2 wrong usage.
`

/** The page of the command line, in Markdown: what \`--help\` of every command prints. */
export function describeCommandLine(): string {
  const program = createProgram({ context: testContext(), finish: () => undefined })
  const described = leavesOf(program).map(
    (command) => `## ${nameOf(command)}\n\n\`\`\`text\n${helpOf(command)}\n\`\`\`\n`,
  )
  return [HEAD, ...described].join('\n')
}

/** The commands that are no groups, in the order of the program. */
function leavesOf(command: Command): readonly Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf)
}

function nameOf(command: Command): string {
  const words = [command.name()]
  for (let { parent } = command; parent !== null && parent.parent !== null; { parent } = parent)
    words.unshift(parent.name())
  return words.join(' ')
}

// The width of a terminal must not change the page.
const WIDTH = 120

function helpOf(command: Command): string {
  const written: string[] = []
  command.configureOutput({ writeOut: (text) => void written.push(text), getOutHelpWidth: () => WIDTH })
  command.outputHelp()
  return written.join('').trim()
}
