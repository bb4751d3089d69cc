import { useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { type Answers, operator } from '../api/operator-client.ts'
import { useLive } from '../api/use-answer.ts'
import { Modal } from '../dialogs/modal.tsx'
import { PageFrame } from '../frame/page-frame.tsx'
import { ChipChoice } from '../parts/choice.tsx'
import type { Column } from '../parts/data-table.tsx'
import { PagedTable, usePages } from '../parts/paged-table.tsx'
import { EmptyNotice, Facts } from '../parts/section.tsx'
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
  // The router also keeps what is unknown in an address; it is left out here.
  const select = (found: object) => readRefusedSearch({ ...found })
  const search = useSearch({ from: '/refused', structuralSharing: true, select })
  const refusals = usePages(
    ['refusals', search],
    (page) => operator.refusals.list.query({ ...search, ...page }),
    REFRESH_MS,
  )
  const [shown, setShown] = useState<Refusal | null>(null)
  const notKept = refusals.data?.pages[0]?.notKept ?? []
  return (
    <PageFrame title="Refused">
      <Filters search={search} />
      <NotKept counts={notKept} />
      <PagedTable
        query={refusals}
        caption="Refused"
        columns={toColumns(setShown)}
        keyOf={({ id }) => id}
        empty={notKept.length === 0 && toEmpty(Object.keys(search).length > 0)}
      />
      {shown !== null && <RefusalDialog refusal={shown} onClose={() => setShown(null)} />}
    </PageFrame>
  )
}

/** The providers, and the reasons of all records, also of those whose rows are not loaded. */
function Filters({ search: { provider, reason } }: { readonly search: RefusedSearch }) {
  const navigate = useNavigate()
  const count = () => operator.refusals.counts.query(provider === undefined ? {} : { provider })
  const { data = [] } = useLive(['refusals', 'counts', provider], count, COUNTS_REFRESH_MS)
  const choose = (change: { readonly [Name in keyof RefusedSearch]?: string | undefined }): void => {
    // A choice that the page does not show yet is kept.
    const changed = (now: Readonly<Record<string, unknown>>) => readRefusedSearch({ ...now, ...change })
    void navigate({ to: '/refused', search: changed })
  }
  return (
    <search className="my-2 flex flex-wrap items-center gap-x-4 gap-y-2">
      <ProviderFilter as={ChipChoice} chosen={provider} onChoose={(chosen) => choose({ provider: chosen })} />
      <ChipChoice
        label="Reason"
        any="All reasons"
        chosen={reason}
        options={data.map((one) => [one.reason, `${one.reason} (${texts.number(one.records)})`])}
        onChoose={(chosen) => choose({ reason: chosen })}
      />
    </search>
  )
}

function toEmpty(isFiltered: boolean) {
  return isFiltered ? (
    <EmptyNotice title="No refused delivery matches these filters" hint="Choose another provider or another reason." />
  ) : (
    <EmptyNotice
      title="No delivery was refused"
      hint="This page lists the last 1,000 of each provider with the reason. Bodies and signatures are never kept. To see why one would be refused:"
      command="npm run oncehook -- verify --help"
    />
  )
}

function NotKept({ counts }: { readonly counts: Refusals['notKept'] }) {
  if (counts.length === 0) return null
  return (
    <ul className="my-2 text-quiet">
      {counts.map(({ provider, reason, why, count, since }) => (
        <li key={`${provider} ${reason} ${why}`}>
          {texts.plural(count, 'more delivery', 'more deliveries')} of {provider} ({why ?? reason}) not recorded, since{' '}
          <Instant at={since} />
        </li>
      ))}
    </ul>
  )
}

const sizeOf = ({ bytes }: Refusal): string => (bytes === null ? texts.none : texts.bytes(bytes))

function toColumns(show: (refusal: Refusal) => void): readonly Column<Refusal>[] {
  return [
    {
      head: 'Reason',
      className: 'md:w-64',
      cell: (refusal) => (
        <button type="button" className="max-w-full truncate text-link underline" onClick={() => show(refusal)}>
          {refusal.why ?? refusal.reason}
        </button>
      ),
    },
    { head: 'At', className: 'w-26', cell: ({ at }) => <Ago at={at} /> },
    { head: 'Provider', className: 'w-32 hidden sm:table-cell', cell: ({ provider }) => provider },
    {
      head: 'Likely cause',
      className: 'hidden md:table-cell',
      cell: ({ causes: [likely] }) => (likely === undefined ? texts.none : `${likely.message}. ${likely.fix}.`),
    },
    { head: 'Network', className: 'w-32 hidden lg:table-cell', cell: ({ network }) => network ?? texts.none },
    { head: 'Size', className: 'w-24 hidden lg:table-cell tabular-nums', cell: sizeOf },
    { head: 'Secrets tried', className: 'w-40 hidden lg:table-cell', cell: ({ secretIds }) => secretIds.join(', ') },
  ]
}

/** Everything that is kept about a refused delivery, which does not include its body or signature. */
function RefusalDialog({ refusal, onClose }: { readonly refusal: Refusal; readonly onClose: () => void }) {
  const { causes, headers } = refusal
  const looked = refusal.signatureHeaders.map(({ name, isPresent }) => `${name} ${isPresent ? 'present' : 'missing'}`)
  const { none } = texts
  return (
    <Modal title="Refused delivery" onClose={onClose}>
      <Facts
        hasOneColumn
        items={[
          ['At', <Instant key="at" at={refusal.at} />],
          ['Provider', refusal.provider],
          ['Answer', `${refusal.status} ${refusal.reason}: ${refusal.message}`],
          ['Why', refusal.why ?? none],
          ['Secrets tried', refusal.secretIds.join(', ') || 'none: no signature was compared'],
          ['Signature headers', looked.join(', ') || none],
          ['Network', refusal.network ?? none],
          ['Size', sizeOf(refusal)],
          ...headers.map(({ name, value }) => [name, value] as const),
          ['Request', refusal.requestId],
        ]}
      />
      {causes.length > 0 && (
        <>
          <h3 className="mt-3 font-semibold">Causes, most likely first</h3>
          <ul className="list-disc pl-5">
            {causes.map(({ cause, proved, message, fix }) => (
              <li key={cause}>
                {message}
                {!proved && ' (possible)'}. <strong>{fix}.</strong>
              </li>
            ))}
          </ul>
        </>
      )}
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
