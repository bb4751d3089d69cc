import { SingleBar } from 'cli-progress'
import type { CliContext } from '../cli-context.ts'
import { ask, type OperatorClient } from './operator-client.ts'

/** The progress of a replay, from the operator API. */
export type ReplayProgress = Awaited<ReturnType<OperatorClient['replays']['get']['query']>>

/** The last progress of a replay, and why watching it ended. */
export interface WatchedReplay {
  readonly progress: ReplayProgress
  readonly ended: 'settled' | 'timed_out' | 'interrupted'
}

/** The replay to watch, and the limits. */
export interface ReplayWatch {
  readonly client: OperatorClient
  readonly replayId: string
  /** Maximum time in milliseconds without a settled event, once all events are due. */
  readonly timeoutMs: number
  readonly cancelOnInterrupt: boolean
}

const LOOK_MS = 500

/**
 * Watches a replay until all its events are settled. Ctrl-C stops watching and, if requested, cancels the replay. A terminal
 * shows a progress bar.
 */
export async function watchReplay(context: CliContext, watch: ReplayWatch): Promise<WatchedReplay> {
  let interrupted = false
  const wake = Promise.withResolvers<void>()
  const release = context.onInterrupt(() => {
    interrupted = true
    wake.resolve()
  })
  const bar = createBar(context)
  try {
    let latest = { progress: await look(watch), at: context.now() }
    for (;;) {
      bar.show(latest.progress)
      if (interrupted) return await giveUp(watch, latest.progress)
      if (isSettled(latest.progress)) return { progress: latest.progress, ended: 'settled' }
      if (context.now() - latest.at > watch.timeoutMs) return { progress: latest.progress, ended: 'timed_out' }
      await Promise.race([context.sleep(LOOK_MS), wake.promise])
      const progress = await look(watch)
      latest = { progress, at: hasMoved(latest.progress, progress) ? context.now() : latest.at }
    }
  } finally {
    bar.stop()
    release()
  }
}

async function look({ client, replayId }: ReplayWatch): Promise<ReplayProgress> {
  return ask(client.replays.get.query({ replayId }))
}

async function giveUp(watch: ReplayWatch, progress: ReplayProgress): Promise<WatchedReplay> {
  if (!watch.cancelOnInterrupt) return { progress, ended: 'interrupted' }
  const { replayId } = watch
  return { progress: await ask(watch.client.replays.cancel.mutate({ replayId })), ended: 'interrupted' }
}

function isSettled({ state, started, done, failed }: ReplayProgress): boolean {
  return state !== 'running' && done + failed >= started
}

function hasMoved(before: ReplayProgress, after: ReplayProgress): boolean {
  return after.state === 'running' || after.done + after.failed > before.done + before.failed
}

/** A progress bar of settled events; nothing without a terminal. */
function createBar({ terminal }: CliContext): { show(progress: ReplayProgress): void; stop(): void } {
  if (terminal === null) return { show: () => undefined, stop: () => undefined }
  const bar = new SingleBar({
    stream: terminal,
    format: 'Replaying [{bar}] {value} of {total} settled, {failed} dead again',
    barsize: 30,
    hideCursor: true,
    linewrap: null,
  })
  let begun = false
  return {
    show({ matched, done, failed }) {
      if (!begun) bar.start(matched, 0, { failed: 0 })
      begun = true
      bar.update(Math.min(done + failed, matched), { failed })
    },
    stop: () => bar.stop(),
  }
}
