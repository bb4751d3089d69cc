import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const HEAD = `<!-- Made by \`npm run fix\` from the errors in the code and the comments above them. -->

# Errors

A client finds the code of an error in the body of the answer: \`{"error": "<sentence>", "code": "<code>", "requestId": "…"}\`. An operator finds the same
codes as \`reason\` of a \`dead\` event ([what to do](../how-to/replay.md#steps)), as \`lastError.code\` of a waiting event, and [in the log](logs.md).

The column "again" says when the same request can succeed:

- \`now\`: at once, after you have read the present state.
- \`later\`: after the time in \`Retry-After\`, or without it after a longer wait for each attempt. Repeat a POST with the same Idempotency-Key.
- Nothing: never, until you change the request or the system.

| code | status | again | meaning, and what to do |
|---|---|---|---|
`

const REASONS = `
## Reasons of events

Waiting events are retried by themselves. As a reason, \`internal\` means that the stored order is damaged: \`order.undecidable\` in the log of fulfilment
names it. These reasons are no errors of a request:

- \`retries_exhausted\`, \`worker_died\`, \`fulfilment_failed\`, \`amount_missing\`: see [the steps](../how-to/replay.md#steps).
- \`handler_failed\`: \`MAX_CRASHES\` times in a row, calls of a handler broke, the last ones with this event alone, while it answered for others.
- \`handler_refused\`: a [handler](handlers.md) answered 410 or 422. One that is called by tRPC can give its own reason.
- \`body_missing\`: the body of a task was removed before it was sent.
- \`handler_removed\`, of an \`unhandled\` event: an operator discarded the tasks of a removed [handler](handlers.md).
  [Others that had no effect](../how-to/replay.md#events-without-an-effect).
- \`expired\`, \`erased\`, of a \`done\` event of which only the key is left: after its [retention](../explanation/privacy.md#what-is-stored), or after an
  [erasure](../how-to/delete-customer-data.md).

## Attempts of handlers

Attempts of tasks, and \`lastError\` of a waiting task, have these codes, or those of a handler that is called by tRPC. [What to do](../how-to/handler-problem.md).

- \`handler_failed\`: it answered with another status, such as 401, 404, 413 or 500. By tRPC: with 500 or more, or with no valid answer.
- \`handler_busy\`: it answered 429 or 503, or something in front of it did.
- \`handler_unreadable\`, by tRPC: it answered 400 or 413 to this task alone, or there was no time to find the task at which it fails.
- \`handler_refused\`, \`body_missing\`: as above. The task is dead.
- \`unavailable\`: there was no answer, or by tRPC one that says nothing about the task, such as 401. The message names it.
`

/** The page of the errors, in Markdown: every error that the services define, by its code. */
export function describeErrors(repository: string): string {
  const files = globSync('packages/*/src/**/*.ts', { cwd: repository, exclude: ['**/*.test.ts'] })
  const rows = files.flatMap((file) => errorsIn(readFileSync(join(repository, file), 'utf8')))
  // Two services can define the same error: the longer row has the advice.
  const longest = new Map(rows.toSorted(([, one], [, other]) => one.length - other.length))
  return `${HEAD}${[...longest.values()].toSorted().join('\n')}\n${REASONS}`
}

// The comment, which may be missing, and the arguments: code, status, message, and when to try again.
const DEFINITION =
  /(?:\/\*\*((?:(?!\*\/).)+)\*\/\n)?(?:export )?const \w+ = defineError\(\s*'(\w+)',\s*(\d{3}),\s*(['"])(.+?)\4,?\s*(?:'(\w+)',?\s*)?\)/gs

/** The code and the row of each error that a source defines. */
function errorsIn(source: string): (readonly [code: string, row: string])[] {
  return Array.from(source.matchAll(DEFINITION), ([, comment = '', code = '', status, , message, again = '']) => {
    const advice = comment.replaceAll(/\s+(?:\* )?/g, ' ').trimEnd()
    return [code, `| \`${code}\` | ${status} | ${again} | ${message}.${advice} |`] as const
  })
}
