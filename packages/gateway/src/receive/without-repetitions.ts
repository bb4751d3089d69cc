import type { WebhookEvent } from '@oncehook/webhooks/providers'

/** If several events have the same id, the first one counts, as it does if they arrive in separate deliveries. */
export function withoutRepetitions(events: readonly WebhookEvent[]): readonly WebhookEvent[] {
  const byId = new Map<string, WebhookEvent>()
  for (const event of events) if (!byId.has(event.id)) byId.set(event.id, event)
  return [...byId.values()]
}
