import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { type Answers, operator } from '../api/operator-client.ts'
import { CloseRow, DialogFacts, Modal } from '../dialogs/modal.tsx'
import { PageFrame } from '../frame/page-frame.tsx'
import { ChipChoice } from '../parts/choice.tsx'
import type { Column } from '../parts/data-table.tsx'
import { type EmptyTexts, PagedTable, usePages } from '../parts/paged-table.tsx'
import { Ago, Instant } from '../parts/values.tsx'
import { ProviderFilter } from '../providers/use-providers.tsx'
import { texts } from '../texts/texts.ts'

type Refusals = Answers['refusals']['list']
type Refusal = Refusals['items'][number]

const REFRESH_MS = 3_000
// Counting reads all records.
const COUNTS_REFRESH_MS = 15_000

/** The refused deliveries, newest first, and why each was refused. */
export function RefusedPage() {
  const search = useRefusedSearch()
  const refusals = usePages({
    key: ['refusals', search],
    read: (page) => operator.refusals.list.query({ ...search, ...page }),
    refreshMs: REFRESH_MS,
  })
  const [shown, setShown] = useState<Refusal | null>(null)
  const notKept = refusals.data?.pages[0]?.notKept ?? []
  return (
    <PageFrame title={texts.pages.refused}>
      <Filters />
      <NotKept counts={notKept} />
      <PagedTable
        query={refusals}
        caption={texts.pages.refused}
        columns={toColumns(setShown)}
        keyOf={({ id }) => id}
        empty={notKept.length === 0 ? whyEmpty(search) : null}
      />
      {shown !== null && <RefusalDialog refusal={shown} onClose={() => setShown(null)} />}
    </PageFrame>
  )
}

function Filters() {
  const search = useRefusedSearch()
  const navigate = useNavigate()
  const choose = (change: { provider?: string | undefined; reason?: string | undefined }): void => {
    // A choice that the page does not show yet is kept.
    const changed = (now: Readonly<Record<string, unknown>>) => readRefusedSearch({ ...now, ...change })
    void navigate({ to: '/refused', search: changed })
  }
  return (
    <search className="my-2 flex flex-wrap items-center gap-x-4 gap-y-2">
      <ProviderFilter as={ChipChoice} chosen={search.provider} onChoose={(provider) => choose({ provider })} />
      <ReasonFilter search={search} onChoose={(reason) => choose({ reason })} />
    </search>
  )
}

/** The reasons of all records, also of those whose rows are not loaded. */
function ReasonFilter(props: {
  readonly search: RefusedSearch
  readonly onChoose: (reason: string | undefined) => void
}) {
  const { provider, reason: chosen } = props.search
  const { data = [] } = useQuery({
    queryKey: ['refusals', 'counts', provider],
    queryFn: () => operator.refusals.counts.query(provider === undefined ? {} : { provider }),
    refetchInterval: COUNTS_REFRESH_MS,
  })
  return (
    <ChipChoice
      label={texts.events.reason}
      any={texts.events.anyReason}
      chosen={chosen}
      options={data.map(({ reason, records }) => [reason, `${reason} (${texts.number(records)})`])}
      onChoose={props.onChoose}
    />
  )
}

function whyEmpty(filters: RefusedSearch): EmptyTexts {
  const { noMatchTitle: emptyTitle, noMatchHint: emptyHint } = texts.refused
  return Object.keys(filters).length > 0 ? { emptyTitle, emptyHint } : texts.refused
}

function NotKept({ counts }: { readonly counts: Refusals['notKept'] }) {
  if (counts.length === 0) return null
  return (
    <ul className="my-2 text-quiet">
      {counts.map(({ provider, reason, why, count, since }) => (
        <li key={`${provider} ${reason} ${why}`}>
          {texts.refused.notKept(count, provider, why ?? reason)} <Instant at={since} />
        </li>
      ))}
    </ul>
  )
}

function toColumns(show: (refusal: Refusal) => void): readonly Column<Refusal>[] {
  return [
    {
      head: texts.events.reason,
      className: 'md:w-64',
      cell: (refusal) => (
        <button type="button" className="max-w-full truncate text-link underline" onClick={() => show(refusal)}>
          {refusal.why ?? refusal.reason}
        </button>
      ),
    },
    { head: texts.event.at, className: 'w-26', cell: ({ at }) => <Ago at={at} /> },
    {
      head: texts.events.provider,
      className: 'w-32 hidden sm:table-cell',
      cell: ({ provider }) => <span title={provider}>{provider}</span>,
    },
    {
      head: texts.refused.likely,
      className: 'hidden md:table-cell',
      cell: ({ causes: [likely] }) => {
        const text = likely === undefined ? texts.frame.none : `${likely.message}. ${texts.refused.fix(likely.fix)}`
        return <span title={text}>{text}</span>
      },
    },
    {
      head: texts.refused.network,
      className: 'w-32 hidden lg:table-cell',
      cell: ({ network }) => network ?? texts.frame.none,
    },
    {
      head: texts.refused.size,
      className: 'w-24 hidden lg:table-cell tabular-nums',
      cell: ({ bytes }) => (bytes === null ? texts.frame.none : texts.event.bytes(bytes)),
    },
    {
      head: texts.refused.tried,
      className: 'w-40 hidden lg:table-cell',
      cell: ({ secretIds }) => <span title={secretIds.join(', ')}>{secretIds.join(', ')}</span>,
    },
  ]
}

/** Everything that is kept about a refused delivery, which does not include its body or signature. */
function RefusalDialog(props: {
  readonly refusal: Answers['refusals']['list']['items'][number]
  readonly onClose: () => void
}) {
  const { refusal, onClose } = props
  const { headers, signatureHeaders, secretIds, causes } = refusal
  const looked = signatureHeaders.map(({ name, isPresent }) => texts.refused.header(name, isPresent))
  const rows = [
    [texts.event.at, <Instant key="at" at={refusal.at} />],
    [texts.events.provider, refusal.provider],
    [texts.refused.answer, `${refusal.status} ${refusal.reason}: ${refusal.message}`],
    [texts.refused.why, refusal.why ?? texts.frame.none],
    [texts.refused.tried, secretIds.length === 0 ? texts.refused.triedNone : secretIds.join(', ')],
    [texts.refused.signature, looked.length === 0 ? texts.frame.none : looked.join(', ')],
    [texts.refused.network, refusal.network ?? texts.frame.none],
    [texts.refused.size, refusal.bytes === null ? texts.frame.none : texts.event.bytes(refusal.bytes)],
    ...headers.map(({ name, value }) => [name, value] as const),
    [texts.problem.requestId, refusal.requestId],
  ] as const
  return (
    <Modal title={texts.refused.title} onClose={onClose}>
      <DialogFacts items={rows} />
      {causes.length > 0 && (
        <>
          <h3 className="mt-3 font-semibold">{texts.refused.causes}</h3>
          <ul className="list-disc pl-5">
            {causes.map(({ cause, proved, message, fix }) => (
              <li key={cause}>
                {texts.refused.cause(message, proved)} <strong>{texts.refused.fix(fix)}</strong>
              </li>
            ))}
          </ul>
        </>
      )}
      <CloseRow onClose={onClose} />
    </Modal>
  )
}

interface RefusedSearch {
  readonly provider?: string
  readonly reason?: string
}

export function readRefusedSearch(search: Readonly<Record<string, unknown>>): RefusedSearch {
  const names = ['provider', 'reason'] as const
  const found = names.map((name) => [name, search[name]] as const)
  return Object.fromEntries(found.filter(([, value]) => typeof value === 'string' && value !== ''))
}

/** The filters of the address. The router also keeps what is unknown there; it is left out here. */
function useRefusedSearch(): RefusedSearch {
  return useSearch({ from: '/refused', structuralSharing: true, select: (search) => readRefusedSearch({ ...search }) })
}
