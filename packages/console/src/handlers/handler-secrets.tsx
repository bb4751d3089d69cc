import { Instant } from '../parts/instant.tsx'
import { PlainTable } from '../parts/plain-table.tsx'
import { texts } from '../texts/texts.ts'
import type { ListedHandler } from './use-handlers.ts'

const SOON_MS = 7 * 86_400_000

/** The secrets that sign the calls of a handler, by id: when each expires. */
export function HandlerSecrets({ handler: { name, secrets } }: { readonly handler: ListedHandler }) {
  const { secretsOf, secret, ends, state } = texts.providers
  return (
    <PlainTable
      caption={secretsOf(name)}
      heads={[secret, ends, state]}
      rows={secrets.map(({ id, notAfter }) => {
        const phase = phaseOf(notAfter, Date.now())
        return {
          key: id,
          cells: [
            <code key="id" className="inline-block min-w-[8ch] font-mono">
              {id}
            </code>,
            <Instant key="ends" at={notAfter} />,
            <span key="state" className={phase === 'signs' ? 'text-good' : 'text-bad'}>
              {texts.handlers.secretStates[phase]}
            </span>,
          ],
        }
      })}
    />
  )
}

function phaseOf(notAfter: string | null, now: number): keyof typeof texts.handlers.secretStates {
  const leftMs = notAfter === null ? Number.POSITIVE_INFINITY : Date.parse(notAfter) - now
  if (leftMs <= 0) return 'expired'
  return leftMs <= SOON_MS ? 'expiresSoon' : 'signs'
}
