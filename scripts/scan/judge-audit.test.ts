import { describe, expect, it } from 'vitest'
import { judgeAudit } from './judge-audit.ts'

// As npm 11 prints them.
const report = (severity: string) =>
  JSON.stringify({ auditReportVersion: 2, vulnerabilities: { koa: { name: 'koa', severity, range: '<3.0.1' } } })
const REFUSED = JSON.stringify({ message: '405 Method Not Allowed', statusCode: 405 })

describe('a scan', () => {
  it('passes without a known weakness, and fails with one that is severe, which it names', () => {
    const none = JSON.stringify({ auditReportVersion: 2, vulnerabilities: {} })
    expect(judgeAudit(none, true)).toEqual({ lines: ['0 packages with known weaknesses'], exitCode: 0 })
    const lines = ['critical: koa <3.0.1', '1 packages with known weaknesses']
    expect(judgeAudit(report('critical'), false)).toEqual({ lines, exitCode: 1 })
    expect(judgeAudit(report('high'), false).exitCode).toBe(1)
    expect(judgeAudit(report('moderate'), true).exitCode).toBe(0)
  })

  it.each([
    [REFUSED, 'Skipped: no advisories could be read (405 Method Not Allowed)'],
    ['', 'Skipped: no advisories could be read (the registry does not answer)'],
  ])('says why it is skipped, and fails only where it is required', (output, line) => {
    expect(judgeAudit(output, false)).toEqual({ lines: [line], exitCode: 0 })
    expect(judgeAudit(output, true)).toEqual({ lines: [line], exitCode: 1 })
  })
})
