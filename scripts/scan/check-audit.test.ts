import { describe, expect, it } from 'vitest'
import { checkAudit } from './check-audit.ts'

// As npm 11 prints them.
const report = (severity: string) =>
  JSON.stringify({ auditReportVersion: 2, vulnerabilities: { koa: { name: 'koa', severity, range: '<3.0.1' } } })
const REFUSED = JSON.stringify({ message: '405 Method Not Allowed', statusCode: 405 })

describe('a scan', () => {
  it('passes without a known weakness, and fails with one that is severe, which it names', () => {
    const none = JSON.stringify({ auditReportVersion: 2, vulnerabilities: {} })
    expect(checkAudit(none, true)).toEqual({ lines: ['0 packages with known weaknesses'], exitCode: 0 })
    const lines = ['critical: koa <3.0.1', '1 packages with known weaknesses']
    expect(checkAudit(report('critical'), false)).toEqual({ lines, exitCode: 1 })
    expect(checkAudit(report('high'), false).exitCode).toBe(1)
    expect(checkAudit(report('moderate'), true).exitCode).toBe(0)
  })

  it.each([
    [REFUSED, 'Skipped: no advisories could be read (405 Method Not Allowed)'],
    ['', 'Skipped: no advisories could be read (the registry does not answer)'],
  ])('says why it is skipped, and fails only if it is required', (output, line) => {
    expect(checkAudit(output, false)).toEqual({ lines: [line], exitCode: 0 })
    expect(checkAudit(output, true)).toEqual({ lines: [line], exitCode: 1 })
  })
})
