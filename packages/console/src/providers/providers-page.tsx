import { formatAmount } from '@oncehook/kernel/money/currencies'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { type Answers, operator } from '../api/operator-client.ts'
import { useMayDo } from '../api/session.ts'
import { PauseControl } from '../dialogs/pause-control.tsx'
import { ReasonDialog } from '../dialogs/reason-dialog.tsx'
import { PageFrame } from '../frame/page-frame.tsx'
import { GuardedButton } from '../parts/buttons.tsx'
import { HintedField } from '../parts/hinted-field.tsx'
import { QueryProblem } from '../parts/problem-notice.tsx'
import { EmptyNotice, Loading, Section } from '../parts/section.tsx'
import { texts } from '../texts/texts.ts'
import { RotationDialog } from './rotation-dialog.tsx'
import { SecretsTable } from './secrets-table.tsx'
import { useProviders } from './use-providers.tsx'

type Provider = Answers['providers']['list'][number]

/** Each provider: its URL, its deliveries, its secrets, and the state of a rotation. */
export function ProvidersPage() {
  const { data, error, refetch } = useProviders()
  const { emptyTitle, emptyHint, emptyCommand } = texts.providers
  return (
    <PageFrame title={texts.pages.providers}>
      <QueryProblem error={error} retry={() => void refetch()} />
      <RefusedSettings />
      {data === undefined && error === null && <Loading />}
      {data?.length === 0 && <EmptyNotice title={emptyTitle} hint={emptyHint} command={emptyCommand} />}
      {data?.map((provider) => (
        <ProviderPart key={provider.name} provider={provider} />
      ))}
    </PageFrame>
  )
}

/** Says that the newest settings are not in use, and why. */
function RefusedSettings() {
  const { data } = useQuery({
    ...{ queryKey: ['providers', 'refusedSettings'], refetchInterval: REFUSED_REFRESH_MS },
    queryFn: () => operator.providers.refusedSettings.query(),
  })
  if (data === undefined || data.problems.length === 0) return null
  return (
    <div role="alert" className="my-2 border-l-4 border-bad bg-raised px-3 py-2">
      <strong className="text-bad">{texts.providers.refusedSettings}</strong>
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

const REFUSED_REFRESH_MS = 5_000

function ProviderPart({ provider }: { readonly provider: Provider }) {
  const [isRotating, setIsRotating] = useState(false)
  const { name, scheme, path, deliveries, oldestUnsettledSeconds } = provider
  const counts = Object.entries(deliveries).map(([kind, count]) => `${kind} ${texts.number(count)}`)
  return (
    <Section title={name}>
      <p className="my-1 flex flex-wrap gap-x-6">
        <span>
          <span className="text-quiet">{texts.providers.scheme}</span> {scheme}
        </span>
        <code className="font-mono">{path}</code>
        {counts.length === 0 && <span>{texts.providers.noDeliveries}</span>}
        {counts.length > 0 && (
          <span>
            <span className="text-quiet">{texts.providers.deliveries}</span> {counts.join(' · ')}
          </span>
        )}
        {oldestUnsettledSeconds !== null && oldestUnsettledSeconds > 0 && (
          <span>
            <span className="text-quiet">{texts.overview.oldest}</span> {texts.time.seconds(oldestUnsettledSeconds)}
          </span>
        )}
        <Link to="/events" search={{ provider: name }}>
          {texts.pages.events}
        </Link>
        <Link to="/refused" search={{ provider: name }}>
          {texts.pages.refused}
        </Link>
      </p>
      <div className="my-2 flex flex-wrap items-center gap-2">
        <PauseControl
          kind="providers"
          name={name}
          paused={provider.paused}
          waiting={texts.providers.waiting(provider.paused?.waiting ?? null)}
          pause={(reason) => operator.providers.pause.mutate({ provider: name, reason })}
          resume={(reason) => operator.providers.resume.mutate({ provider: name, reason })}
        />
        <SendTest provider={name} takesTests={provider.takesTests} text={texts.test.send} />
        <button type="button" className="button" onClick={() => setIsRotating(true)}>
          {texts.rotation.open}
        </button>
      </div>
      <SecretsTable provider={provider} />
      {isRotating && <RotationDialog provider={provider} onClose={() => setIsRotating(false)} />}
    </Section>
  )
}

/** The button that sends a test event of a provider, and the event that was sent last. */
export function SendTest(props: {
  readonly provider: string
  /** Whether the gateway can sign as this provider. */
  readonly takesTests: boolean
  readonly text: string
}) {
  const { provider, takesTests, text } = props
  const [isOpen, setOpen] = useState(false)
  const [sent, setSent] = useState<{ readonly id: string; readonly eventId: string } | null>(null)
  const mayOperate = useMayDo('operate')
  const send = async (reason: string, form: FormData): Promise<void> => {
    const orderId = String(form.get('order') ?? '').trim() || String(form.get('target') ?? '')
    const about = orderId === '' ? {} : { orderId }
    setSent(await operator.events.sendTest.mutate({ provider, reason, ...about }))
  }
  const { title, hint, submit, stored } = texts.test
  return (
    <>
      <GuardedButton text={text} why={reasonAgainst(mayOperate, takesTests)} onClick={() => setOpen(true)} />
      {sent !== null && (
        <span role="status" className="order-last basis-full">
          {stored}{' '}
          <Link to="/events/$id" params={{ id: sent.id }} className="font-mono break-all">
            {sent.eventId}
          </Link>
        </span>
      )}
      {isOpen && (
        <ReasonDialog
          action={{ title: title(provider), hint, submit, fields: <OrderField />, act: send }}
          changes={[]}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  )
}

/** The order of a test event, and what the event does to the one that it is about if none is named. */
function OrderField() {
  const { data, error } = useQuery({
    ...{ queryKey: ['testTarget'], queryFn: () => operator.events.testTarget.query() },
    ...{ gcTime: 0, staleTime: Number.POSITIVE_INFINITY },
  })
  const order = data?.order ?? null
  const { target, noTarget, noEffect } = texts.test
  return (
    <>
      <HintedField
        label={texts.test.order}
        hint={texts.test.orderHint}
        name="order"
        maxLength={128}
        autoComplete="off"
        spellCheck={false}
        className="input w-full"
      />
      <p role="status" className={order === null ? '' : 'font-semibold'}>
        {data?.applies === false && noEffect}
        {data?.applies === true && (order === null ? noTarget : target(order.id, toAmount(order)))}
        {data === undefined && error === null && texts.frame.loading}
      </p>
      {/* What is sent is what was shown, even if a newer order is created meanwhile. */}
      <input type="hidden" name="target" value={order?.id ?? ''} />
      <QueryProblem error={error} />
    </>
  )
}

const toAmount = ({ amountDue, currency }: { readonly amountDue: number; readonly currency: string }): string =>
  formatAmount(amountDue, currency)

function reasonAgainst(mayOperate: boolean, takesTests: boolean): string | null {
  if (!mayOperate) return texts.why.operate
  return takesTests ? null : texts.why.notSignable
}
