import { PlainTable } from '../parts/plain-table.tsx'
import { texts } from '../texts/texts.ts'
import type { ListedHandler } from './use-handlers.ts'

/** Which events a handler wants: those that match one row. */
export function WantedEvents({ handler: { name, events } }: { readonly handler: ListedHandler }) {
  const { wantedBy, types, conditions, anyProvider, noCondition } = texts.handlers
  return (
    <PlainTable
      caption={wantedBy(name)}
      heads={[types, texts.events.provider, conditions]}
      rows={events.map(({ types: patterns, provider, where = [] }, index) => ({
        key: `${index}`,
        cells: [
          <Codes key="types" texts={patterns} />,
          provider ?? anyProvider,
          where.every((conditions) => Object.keys(conditions).length === 0) ? (
            noCondition
          ) : (
            <Codes key="where" texts={where.map(toConditions)} />
          ),
        ],
      }))}
    />
  )
}

/** One alternative of those of which one is enough. */
function toConditions(conditions: object): string {
  return Object.entries(conditions).map(toCondition).join(', ')
}

function toCondition([pointer, condition]: [string, unknown]): string {
  if (typeof condition !== 'object' || condition === null) return `${pointer} = ${JSON.stringify(condition)}`
  const parts = Object.entries(condition).map(([name, value]) => `${SIGNS[name] ?? name} ${JSON.stringify(value)}`)
  return parts.map((part) => `${pointer} ${part}`).join(', ')
}

const SIGNS: Readonly<Record<string, string>> = { gt: '>', gte: '≥', lt: '<', lte: '≤' }

function Codes({ texts: codes }: { readonly texts: readonly string[] }) {
  return (
    <span className="flex flex-wrap gap-x-3">
      {codes.map((code) => (
        <code key={code} className="font-mono break-all">
          {code}
        </code>
      ))}
    </span>
  )
}
