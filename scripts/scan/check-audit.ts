import { z } from 'zod'

/** The result of a scan. */
export interface ScanResult {
  readonly lines: readonly string[]
  /** 1 if a weakness must be fixed, or if a required scan was not possible. */
  readonly exitCode: 0 | 1
}

const SEVERE = new Set(['high', 'critical'])

const reportShape = z.object({
  vulnerabilities: z.record(z.string(), z.object({ severity: z.string(), range: z.string() })),
})
const refusalShape = z.object({ message: z.string() })

/**
 * Evaluates the output of `npm audit --json`. If the registry has no advisories, the scan is skipped, and the reason is
 * reported.
 */
export function checkAudit(output: string, isRequired: boolean): ScanResult {
  const parsed = parse(output)
  const report = reportShape.safeParse(parsed)
  if (!report.success) {
    const { message = 'the registry does not answer' } = refusalShape.safeParse(parsed).data ?? {}
    return { lines: [`Skipped: no advisories could be read (${message})`], exitCode: isRequired ? 1 : 0 }
  }
  const found = Object.entries(report.data.vulnerabilities)
  const severe = found.some(([, { severity }]) => SEVERE.has(severity))
  const lines = found.map(([name, { severity, range }]) => `${severity}: ${name} ${range}`)
  return { lines: [...lines, `${found.length} packages with known weaknesses`], exitCode: severe ? 1 : 0 }
}

function parse(output: string): unknown {
  try {
    return JSON.parse(output)
  } catch {
    return undefined
  }
}
