import type { ListedEvent } from '../api/operator-client.ts'
import { texts } from '../texts/texts.ts'

const LOOKS: Readonly<Record<ListedEvent['state'], { readonly mark: string; readonly colour: string }>> = {
  pending: { mark: '◔', colour: 'text-wait' },
  processing: { mark: '◑', colour: 'text-wait' },
  done: { mark: '●', colour: 'text-good' },
  unhandled: { mark: '○', colour: 'text-quiet' },
  dead: { mark: '✕', colour: 'text-bad' },
  closed: { mark: '▪', colour: 'text-quiet' },
}

/** The state of an event: a symbol, a colour and the word. */
export function StateBadge({ state }: { readonly state: ListedEvent['state'] }) {
  const { mark, colour } = LOOKS[state]
  return (
    <span className={`whitespace-nowrap ${colour}`}>
      <span aria-hidden="true" className="inline-block w-4">
        {mark}
      </span>
      {texts.states[state]}
    </span>
  )
}
