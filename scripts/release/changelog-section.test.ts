import { describe, expect, it } from 'vitest'
import { addSection, changelogSection, unreleasedChanges } from './changelog-section.ts'

const SECTION = `## 0.2.0 (2026-12-01)

### Changes

- Orders can be archived.
  Archived orders are not listed.

### Fixes

- A receipt is sent once.`

describe('the section of a release', () => {
  it('lists changes by their meaning for users, in their order', () => {
    const changes = [
      { bump: 'patch', summary: 'A receipt is sent once.' },
      { bump: 'minor', summary: 'Orders can be archived.\nArchived orders are not listed.\n' },
    ] as const
    expect(changelogSection({ version: '0.2.0', date: '2026-12-01', changes })).toBe(SECTION)
  })

  it('begins with breaking changes', () => {
    const changes = [
      { bump: 'minor', summary: 'Added.' },
      { bump: 'major', summary: 'Removed.' },
    ] as const
    expect(changelogSection({ version: '1.0.0', date: '2027-01-01', changes })).toMatch(
      /### Breaking changes\n\n- Removed\.\n\n### Changes/,
    )
  })
})

describe('a changelog', () => {
  it('has the newest release above the others, below its introduction', () => {
    const before = '# Changelog\n\nWords.\n\n## 0.1.0 (2026-11-21)\n\nThe first.\n'
    expect(addSection(before, SECTION)).toBe(
      `# Changelog\n\nWords.\n\n${SECTION}\n\n## 0.1.0 (2026-11-21)\n\nThe first.\n`,
    )
  })

  it('has no section of unreleased changes any more: they come before those of the changesets', () => {
    const before = `# Changelog\n\n## Unreleased\n\n### Changes\n\n- Added,\n  and told.\n- More.\n\n### Fixes\n\n- Mended.\n\n## 0.1.0 (2026-11-21)\n`
    expect(unreleasedChanges(before)).toEqual([
      { bump: 'minor', summary: 'Added,\nand told.' },
      { bump: 'minor', summary: 'More.' },
      { bump: 'patch', summary: 'Mended.' },
    ])
    expect(addSection(before, SECTION)).toBe(`# Changelog\n\n${SECTION}\n\n## 0.1.0 (2026-11-21)\n`)
    expect(unreleasedChanges('# Changelog\n\n## 0.1.0 (2026-11-21)\n\n### Changes\n\n- The first.\n')).toEqual([])
  })

  it('without a release is refused', () => {
    expect(() => addSection('# Changelog\n', SECTION)).toThrow('CHANGELOG.md has no release')
  })
})
