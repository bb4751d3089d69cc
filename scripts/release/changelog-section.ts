/** How much a change means to its users: `major` breaks them, `minor` adds something, `patch` fixes something. */
export type Bump = 'major' | 'minor' | 'patch'

/** One change in the words of its changeset. */
export interface Change {
  readonly bump: Bump
  readonly summary: string
}

const HEADINGS: readonly (readonly [Bump, string])[] = [
  ['major', 'Breaking changes'],
  ['minor', 'Changes'],
  ['patch', 'Fixes'],
]

/** The section of a release in CHANGELOG.md, without a line break at its end; `date` is `YYYY-MM-DD`. */
export function changelogSection(release: { version: string; date: string; changes: readonly Change[] }): string {
  const groups = HEADINGS.flatMap(([bump, heading]) => {
    const items = release.changes.filter((change) => change.bump === bump).map(({ summary }) => toItem(summary))
    return items.length === 0 ? [] : [`### ${heading}\n\n${items.join('\n')}`]
  })
  return [`## ${release.version} (${release.date})`, ...groups].join('\n\n')
}

const UNRELEASED = /^## Unreleased\n(.*?)(?=^## )/ms

/** The changes of the section `Unreleased`. None if there is no such section. */
export function unreleasedChanges(changelog: string): Change[] {
  const [, section = ''] = UNRELEASED.exec(changelog) ?? []
  const groups = section.split(/^### /m).slice(1)
  return groups.flatMap((group) => {
    const bump = HEADINGS.find(([, heading]) => group.startsWith(`${heading}\n`))?.[0]
    const [, ...items] = group.trim().split(/\n(?=- )/)
    return bump === undefined ? [] : items.map((item) => ({ bump, summary: item.slice(2).replaceAll('\n  ', '\n') }))
  })
}

/**
 * A changelog with one more section above the others, instead of `Unreleased`.
 * @throws if it has no section yet, because then the end of its introduction is unknown
 */
export function addSection(changelog: string, section: string): string {
  const released = changelog.replace(UNRELEASED, '')
  const first = released.search(/^## /m)
  if (first < 0) throw new Error('CHANGELOG.md has no release: its first section begins with "## "')
  return `${released.slice(0, first)}${section}\n\n${released.slice(first)}`
}

function toItem(summary: string): string {
  return `- ${summary.trim().replaceAll(/\n(?=.)/g, '\n  ')}`
}
