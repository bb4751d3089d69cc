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
      rows={events.map(({ types: patterns, provider, where = {} }, index) => ({
        key: `${index}`,
        cells: [
          <Codes key="types" texts={patterns} />,
          provider ?? anyProvider,
          Object.keys(where).length === 0 ? (
            noCondition
          ) : (
            <Codes key="where" texts={Object.entries(where).map(toCondition)} />
          ),
        ],
      }))}
    />
  )
}

function toCondition([pointer, value]: [string, unknown]): string {
  return `${pointer} = ${JSON.stringify(value)}`
}

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
