import { readFile } from 'node:fs/promises'
import type { Delivery } from '@oncehook/gateway/providers/delivery'
import type { CliContext } from '../cli-context.ts'
import { UsageError } from '../exit-code.ts'
import type { DeliveryOptions } from './delivery-options.ts'
import { readHeaderLine, readRawHttpRequest } from './raw-http-request.ts'

/** A delivery that came in, as far as the options tell of it. */
export interface GivenDelivery {
  readonly delivery: Delivery
  /** The target of the request, where it is known. */
  readonly target: string | null
}

/**
 * The delivery that the options name.
 * @throws UsageError when a file cannot be read, or two of them contradict each other
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
  return { delivery: { rawBody, rawHeaders: [...(request?.rawHeaders ?? []), ...given], query }, target }
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
