import { readFile } from 'node:fs/promises'
import type { Delivery } from '@oncehook/webhooks/providers'
import type { CliContext } from '../cli-context.ts'
import { UsageError } from '../exit-code.ts'
import type { DeliveryOptions } from './delivery-options.ts'
import { readHeaderLine, readRawHttpRequest } from './raw-http-request.ts'

/** A received delivery, from the options. */
export interface GivenDelivery {
  readonly delivery: Delivery
  /** The request target, or null if unknown. */
  readonly target: string | null
}

/**
 * Reads the delivery of the options.
 * @throws UsageError if a file cannot be read, or if options conflict
 */
export async function readDelivery(
  file: string | undefined,
  options: DeliveryOptions,
  { readStdin }: Pick<CliContext, 'readStdin'>,
): Promise<GivenDelivery> {
  const given = (options.header ?? []).flatMap((line) => readHeaderLine(Buffer.from(line, 'utf8').toString('latin1')))
  const request = options.request === undefined ? null : readRawHttpRequest(await readBytes(options.request))
  if (request !== null && file !== undefined) throw new UsageError('Give --request or a file with the body, not both')
  const target = request?.target ?? null
  const rawBody = request?.body ?? (file === undefined || file === '-' ? await readStdin() : await readBytes(file))
  const query = queryOf(options.url) ?? queryOf(target) ?? ''
  const rawHeaders = [...(request?.rawHeaders ?? []), ...given]
  return { delivery: { rawBody, rawHeaders, query, isInspected: true }, target }
}

function queryOf(address: string | null | undefined): string | undefined {
  const mark = address?.indexOf('?') ?? -1
  return mark === -1 ? undefined : address?.slice(mark + 1)
}

async function readBytes(path: string): Promise<Buffer> {
  return readFile(path).catch((error: unknown) => {
    throw new UsageError(`The file ${path} cannot be read`, { cause: error })
  })
}
