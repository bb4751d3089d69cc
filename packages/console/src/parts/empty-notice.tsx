/** Says that a list is empty, and what to do. */
export function EmptyNotice({ title, hint }: { readonly title: string; readonly hint: string }) {
  return (
    <div className="px-3 py-10 text-center">
      <p className="font-semibold">{title}</p>
      <p className="mt-1 text-quiet">{hint}</p>
    </div>
  )
}
