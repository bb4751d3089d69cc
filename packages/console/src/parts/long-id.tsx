const END = 6

/** An id that is cut in its middle if it is too long, because ids of one kind often begin alike. Put it in a flex row. */
export function LongId({ id }: { readonly id: string }) {
  return (
    <>
      <span className="truncate">{id.slice(0, -END)}</span>
      <span>{id.slice(-END)}</span>
    </>
  )
}
