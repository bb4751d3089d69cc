/** One commit, as its author wrote it. */
export interface Commit {
  readonly id: string
  readonly message: string
}

/** The maximum length of a subject, in characters. Lists of commits show this much without cutting it off. */
const MAX_SUBJECT = 72

const TYPES = ['build', 'chore', 'ci', 'docs', 'feat', 'fix', 'perf', 'refactor', 'revert', 'style', 'test']
const SUBJECT = new RegExp(`^(?:${TYPES.join('|')})(?:\\([a-z0-9-]+\\))?!?: \\S`)
const TRAILER = /^[A-Za-z-]+-by: \S/

/**
 * The problems of a commit message. The list is empty if the message has the form that CONTRIBUTING.md requires. The
 * body must have a line that is not a trailer (`Signed-off-by` is one). Reviewers check whether the body says why.
 */
function commitProblems(message: string): string[] {
  const [subject = '', gap = '', ...body] = message.trimEnd().split('\n')
  const problems: string[] = []
  if (!SUBJECT.test(subject)) problems.push(`the subject is not "type(scope): subject" with one of ${TYPES.join(', ')}`)
  const length = Array.from(subject).length
  if (length > MAX_SUBJECT) problems.push(`the subject has ${length} characters, more than ${MAX_SUBJECT}`)
  if (/\.$/.test(subject)) problems.push('the subject ends with a full stop')
  if (gap !== '') problems.push('the line after the subject is not empty')
  if (!body.some((line) => line.trim() !== '' && !TRAILER.test(line))) problems.push('it has no body that says why')
  return problems
}

/** One line for each commit whose message breaks the rule, with the problems. */
export function describeBadCommits(commits: readonly Commit[]): string[] {
  return commits.flatMap(({ id, message }) => {
    const problems = commitProblems(message)
    if (problems.length === 0) return []
    return [`${id.slice(0, 7)} ${message.split('\n')[0]}: ${problems.join('; ')}`]
  })
}
