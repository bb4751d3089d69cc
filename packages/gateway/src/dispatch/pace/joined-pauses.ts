import type { UsedPauses } from './fresh-pauses.ts'

/** The pauses of providers, which are read and used together with those of handlers. */
export function joinPauses(providers: UsedPauses, handlers: Pick<UsedPauses<unknown>, 'refresh' | 'use'>): UsedPauses {
  return {
    get current() {
      return providers.current
    },
    async refresh() {
      await Promise.all([providers.refresh(), handlers.refresh()])
    },
    use() {
      const uses = [providers.use(), handlers.use()].filter((one) => one !== null)
      return uses.length === 0 ? null : Promise.all(uses).then(() => undefined)
    },
  }
}
