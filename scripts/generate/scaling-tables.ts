import { deriveCosts } from '../../bench/scale/simulation/derive-costs.ts'
import { MEASURED } from '../../bench/scale/simulation/measured.ts'
import { checkTable, costsTable, simulationTable } from '../../bench/scale/simulation/tables.ts'
import { idleTable, inFlightTable, wholeTable } from '../../bench/scale/tables.ts'

const END = '<!-- end of the figures -->'

/** Replaces the tables of `docs/scaling.md` that come from the stored measurements. */
export function withScalingTables(document: string): string {
  const { day, machine, whole, idle, inFlight } = MEASURED
  const costs = deriveCosts(MEASURED)
  const { records, examined } = inFlight.takeover
  const taken = `One gateway took over ${records.toLocaleString('en-US')} records of a dead process.`
  const blocks: Readonly<Record<string, readonly string[]>> = {
    machine: [`Measured on ${day}: ${machine}.`],
    'idle gateways': idleTable(idle),
    'the whole path': wholeTable(whole),
    'records in process': [
      `${inFlight.events.toLocaleString('en-US')} records are held by living processes.`,
      '',
      ...inFlightTable(inFlight),
      '',
      `${taken} The server examined ${examined.toFixed(1)} documents for each of them.`,
    ],
    'the costs': costsTable(costs),
    'the check': checkTable(costs, whole),
    'the simulation': simulationTable(costs),
  }
  return Object.entries(blocks).reduce((text, [name, lines]) => replaceBlock(text, name, lines), document)
}

function replaceBlock(text: string, name: string, lines: readonly string[]): string {
  const begin = `<!-- figures of ${name}: written by npm run fix -->`
  const [before, rest = ''] = text.split(begin)
  const end = rest.indexOf(END)
  if (before === undefined || end === -1) throw new Error(`The place of ${name} is not marked`)
  return `${before}${begin}\n\n${lines.join('\n')}\n\n${rest.slice(end)}`
}
