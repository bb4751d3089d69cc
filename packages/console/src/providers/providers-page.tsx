import { formatAmount } from '@oncehook/kernel/money/currencies'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { type Answers, operator } from '../api/operator-client.ts'
import { useLive, useOnce } from '../api/use-answer.ts'
import { PauseControl } from '../dialogs/pause-control.tsx'
import { ActionButton } from '../dialogs/reason-dialog.tsx'
import { PageFrame } from '../frame/page-frame.tsx'
import { HintedField } from '../parts/hinted-field.tsx'
import { QueryProblem } from '../parts/problem-notice.tsx'
import { EmptyNotice, Fact, Read, Section } from '../parts/section.tsx'
import { texts } from '../texts/texts.ts'
import { RotationDialog } from './rotation-dialog.tsx'
import { SecretsTable } from './secrets-table.tsx'
import { type Provider, useProviders } from './use-providers.tsx'

export function ProvidersPage() {
  return (
    <PageFrame title="Providers">
      <RefusedSettings />
      <Read query={useProviders()}>
        {(providers) =>
          providers.length === 0 ? (
            <EmptyNotice
              title="No provider is configured"
              hint="Add one to PROVIDERS or PROVIDERS_FILE. docs/reference/providers.md describes every scheme. Check the settings with:"
              command="npm run oncehook -- doctor"
            />
          ) : (
            providers.map((provider) => <ProviderPart key={provider.name} provider={provider} />)
          )
        }
      </Read>
    </PageFrame>
  )
}

/** Says that the newest settings are not in use, and why. */
function RefusedSettings() {
  const { data } = useLive(['providers', 'refusedSettings'], () => operator.providers.refusedSettings.query())
  if (data === undefined || data.problems.length === 0) return null
  return (
    <div role="alert" className="my-2 border-l-4 border-bad bg-raised px-3 py-2">
      <strong className="text-bad">The newest settings are wrong, so the ones before stay in use:</strong>
      <ul className="list-disc pl-5">
        {data.problems.map((problem) => (
          <li key={problem} className="font-mono wrap-anywhere">
            {problem}
          </li>
        ))}
      </ul>
    </div>
  )
}

function ProviderPart({ provider }: { readonly provider: Provider }) {
  const [isRotating, setIsRotating] = useState(false)
  const { name, paused } = provider
  return (
    <Section title={name}>
      <ProviderFacts provider={provider} />
      <div className="my-2 flex flex-wrap items-center gap-2">
        <PauseControl
          kind="providers"
          name={name}
          paused={paused}
          waiting={paused?.waiting ?? null}
          pauseHint="Its deliveries are still verified, stored and answered 200. Their events wait until somebody resumes the provider."
          pause={(reason) => operator.providers.pause.mutate({ provider: name, reason })}
          resume={(reason) => operator.providers.resume.mutate({ provider: name, reason })}
        />
        <SendTest provider={provider} text="Send a test event…" />
        <button type="button" className="button" onClick={() => setIsRotating(true)}>
          Rotate a secret…
        </button>
      </div>
      <SecretsTable provider={provider} />
      {isRotating && <RotationDialog provider={provider} onClose={() => setIsRotating(false)} />}
    </Section>
  )
}

function ProviderFacts({ provider }: { readonly provider: Provider }) {
  const { name, scheme, path, deliveries, oldestUnsettledSeconds: oldest } = provider
  const counts = Object.entries(deliveries).map(([kind, count]) => `${kind} ${texts.number(count)}`)
  return (
    <p className="my-1 flex flex-wrap gap-x-6">
      <Fact name="Scheme">{scheme}</Fact>
      <code>{path}</code>
      {counts.length === 0 ? 'No delivery yet' : <Fact name="Deliveries">{counts.join(' · ')}</Fact>}
      {oldest !== null && oldest > 0 && <Fact name="Oldest unsettled">{texts.time.seconds(oldest)}</Fact>}
      <Link to="/events" search={{ provider: name }}>
        Events
      </Link>
      <Link to="/refused" search={{ provider: name }}>
        Refused
      </Link>
    </p>
  )
}

/** The button that sends a test event of a provider, and the event that was sent last. */
export function SendTest({ provider, text }: { readonly provider: Provider; readonly text: string }) {
  const [sent, setSent] = useState<{ readonly id: string; readonly eventId: string } | null>(null)
  const { name } = provider
  const act = async (reason: string, form: FormData): Promise<void> => {
    const orderId = String(form.get('order') ?? '').trim() || String(form.get('target') ?? '')
    const about = orderId === '' ? {} : { orderId }
    setSent(await operator.events.sendTest.mutate({ provider: name, reason, ...about }))
  }
  return (
    <>
      <ActionButton
        text={text}
        why={provider.takesTests ? null : 'Only the provider can sign: send a test event from its dashboard.'}
        title={`Send a test event of ${name}`}
        hint="The gateway makes up a payment, signs it with the secret of the provider, and verifies and stores it like a delivery, marked as a test."
        submit="Send the test event"
        fields={<OrderField />}
        act={act}
      />
      {sent !== null && (
        <span role="status" className="order-last basis-full">
          Stored:{' '}
          <Link to="/events/$id" params={{ id: sent.id }} className="font-mono break-all">
            {sent.eventId}
          </Link>
        </span>
      )}
    </>
  )
}

/** The order of a test event, and what the event does to the one that it is about if none is named. */
function OrderField() {
  const { data, error } = useOnce(['testTarget'], () => operator.events.testTarget.query())
  const order = data?.order ?? null
  return (
    <>
      <HintedField label="Order id" hint="optional" name="order" maxLength={128} spellCheck={false} />
      <p role="status" className={order === null ? '' : 'font-semibold'}>
        {data === undefined ? error === null && texts.loading : sayTarget(data)}
      </p>
      {/* What is sent is what was shown, even if a newer order is created meanwhile. */}
      <input type="hidden" name="target" value={order?.id ?? ''} />
      <QueryProblem error={error} />
    </>
  )
}

function sayTarget({ applies, order }: Answers['events']['testTarget']): string {
  if (!applies) return 'It has no effect. Without an id, it is about an order that does not exist.'
  if (order === null) return 'No order is pending. Without an id, it has no effect.'
  const amount = formatAmount(order.amountDue, order.currency)
  return `Without an id, it pays ${order.id}, the newest pending order: ${amount}.`
}
