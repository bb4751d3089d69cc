import type { Readable } from 'node:stream'
import {
  type ContainerRuntimeClient,
  type GenericContainer,
  getContainerRuntimeClient,
  type StartedTestContainer,
} from 'testcontainers'
import { until } from '../until.ts'

type Handle = ReturnType<ContainerRuntimeClient['container']['getById']>

/** A container, its name, and the check that it works after a start. */
export interface ContainerParts {
  readonly name: string
  readonly container: GenericContainer
  /** Whether it works again; asked until it does. */
  readonly isReady: () => Promise<boolean>
}

const STOPS_WITHIN_S = 20
const FREEZES_WITHIN_MS = 30_000

/** A container that a test can pause, kill, stop and start again on the same ports. */
export class ContainerUnderTest implements AsyncDisposable {
  readonly name: string
  readonly #handle: Handle
  readonly #isReady: () => Promise<boolean>
  #state: 'running' | 'paused' | 'gone' = 'running'

  private constructor({ name, isReady }: ContainerParts, handle: Handle) {
    this.name = name
    this.#handle = handle
    this.#isReady = isReady
  }

  /** Starts a container; it works when this resolves. */
  static async start(parts: ContainerParts): Promise<ContainerUnderTest> {
    const started = await startOrTellWhy(parts)
    const { container } = await getContainerRuntimeClient()
    const created = new ContainerUnderTest(parts, container.getById(started.getId()))
    try {
      await created.#untilReady()
    } catch (error) {
      await created[Symbol.asyncDispose]()
      throw error
    }
    return created
  }

  /** Whether it runs and is not frozen. */
  get alive(): boolean {
    return this.#state === 'running'
  }

  /** Freezes it: its connections stay open and nothing answers. */
  async pause(): Promise<void> {
    await until(
      () => freeze(this.#handle),
      (frozen) => frozen,
      FREEZES_WITHIN_MS,
    )
    this.#state = 'paused'
  }

  /** Resumes it. */
  async resume(): Promise<void> {
    await this.#handle.unpause()
    this.#state = 'running'
  }

  /** Ends it at once, by SIGKILL. */
  async kill(): Promise<void> {
    this.#state = 'gone'
    const gone = this.#handle.wait()
    await this.#handle.kill()
    await gone
  }

  /** Stops it with SIGTERM and returns its exit code: 137 if it took longer than 20 s. */
  async stop(): Promise<number> {
    this.#state = 'gone'
    await this.#handle.stop({ t: STOPS_WITHIN_S })
    return (await this.#handle.inspect()).State.ExitCode
  }

  /** Starts it again with all that it had written; resolves when it works. */
  async restart(): Promise<void> {
    await this.#handle.start()
    this.#state = 'running'
    await this.#untilReady()
  }

  /** Its state, as the engine reports it: `running`, `paused`, `exited`. */
  async state(): Promise<string> {
    return (await this.#handle.inspect()).State.Status
  }

  /** Whether the kernel ever killed it because memory was exhausted. */
  async ranOutOfMemory(): Promise<boolean> {
    return (await this.#handle.inspect()).State.OOMKilled
  }

  /** The limits that the engine enforces. */
  async limits(): Promise<{ readOnly: boolean; memoryMiB: number; capabilities: string }> {
    const { HostConfig } = await this.#handle.inspect()
    const { ReadonlyRootfs = false, Memory = 0, CapDrop = [], CapAdd } = HostConfig
    const hasNone = CapDrop.includes('ALL') && (CapAdd ?? []).length === 0
    return { readOnly: ReadonlyRootfs, memoryMiB: Memory / 1024 ** 2, capabilities: hasNone ? 'none' : 'some' }
  }

  /** All its output, across restarts. */
  async written(): Promise<string> {
    return withoutFrames(await this.#handle.logs({ stdout: true, stderr: true, follow: false }))
  }

  /** Ends it if it still runs and removes it with its volumes. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#state === 'paused') await this.resume()
    await this.#handle.remove({ force: true, v: true })
  }

  async #untilReady(): Promise<void> {
    await until(this.#isReady, (ready) => ready)
  }
}

/** Whether the container froze. A busy kernel may refuse: runc then thaws it and leaves it to the caller to ask again. */
async function freeze(handle: Handle): Promise<boolean> {
  try {
    await handle.pause()
    return true
  } catch (error) {
    if (String(error).includes('unable to freeze')) return false
    throw error
  }
}

const LINES_TOLD = 20

/** Starts a container. One that fails to start is removed at once, so the error shows its last lines. */
async function startOrTellWhy({ name, container }: ContainerParts): Promise<StartedTestContainer> {
  let output: Readable | undefined
  let written = ''
  container.withLogConsumer((stream) => {
    output = stream.on('data', (piece) => {
      written = `${written}${piece}`.split('\n').slice(-LINES_TOLD).join('\n')
    })
  })
  try {
    return await container.start()
  } catch (cause) {
    throw new Error(`${name} did not start: ${written}`, { cause })
  } finally {
    output?.destroy()
  }
}

const FRAME_HEAD_BYTES = 8

/** Before each piece of output, the engine sends a header of eight bytes. The last four are the length of the piece. */
function withoutFrames(log: Buffer): string {
  const pieces: Buffer[] = []
  for (let at = 0; at + FRAME_HEAD_BYTES <= log.length; ) {
    const begin = at + FRAME_HEAD_BYTES
    at = begin + log.readUInt32BE(at + 4)
    pieces.push(log.subarray(begin, at))
  }
  return Buffer.concat(pieces).toString()
}
