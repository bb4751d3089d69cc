import { z } from 'zod'

/** What a scan came to. */
export interface ScanResult {
  readonly lines: readonly string[]
  /** 1 for a weakness that must be fixed, or for a scan that was required and could not be made. */
  readonly exitCode: 0 | 1
}

const SEVERE = new Set(['high', 'critical'])

const reportShape = z.object({
  vulnerabilities: z.record(z.string(), z.object({ severity: z.string(), range: z.string() })),
})
const refusalShape = z.object({ message: z.string() })

/** Decides about what `npm audit --json` printed. Where the registry has no advisories, the scan is skipped with its reason. */
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
