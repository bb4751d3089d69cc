/** One page of a list of the operator API. */
interface Page<Item> {
  readonly items: readonly Item[]
  readonly next: string | null
}

/** The items of all pages, each page requested with the cursor of the previous one. */
export async function allPages<Item>(request: (cursor: { after?: string }) => Promise<Page<Item>>): Promise<Item[]> {
  const items: Item[] = []
  let after: string | null = null
  do {
    const page: Page<Item> = await request(after === null ? {} : { after })
    items.push(...page.items)
    after = page.next
  } while (after !== null)
  return items
}
