import type { ReactNode } from 'react'

/** A short table. If the window is too narrow, it scrolls sideways. */
export function PlainTable(props: {
  readonly caption: string
  readonly heads: readonly string[]
  readonly rows: readonly { readonly key: string; readonly cells: readonly ReactNode[] }[]
}) {
  const { caption, heads, rows } = props
  return (
    // A region that scrolls must take the focus, so that keys can scroll it.
    <section className="overflow-x-auto" tabIndex={0} aria-label={caption}>
      <table className="w-full border-collapse">
        <caption className="sr-only">{caption}</caption>
        <thead>
          <tr className="border-b border-line text-left text-quiet max-sm:sr-only">
            {heads.map((head) => (
              <th key={head} scope="col" className="py-1 pr-4 font-normal">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, cells }) => (
            <tr key={key} className="border-b border-line align-baseline items-baseline max-sm:flex max-sm:flex-wrap">
              {cells.map((cell, place) => (
                <td
                  key={heads[place]}
                  className={`py-1 pr-4 ${place === 0 ? 'max-sm:basis-full max-sm:font-semibold' : ''}`}
                >
                  {place > 0 && (
                    <span aria-hidden="true" className="text-quiet sm:hidden">
                      {heads[place]}{' '}
                    </span>
                  )}
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
