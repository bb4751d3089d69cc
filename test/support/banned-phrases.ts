/** A phrase that makes readers read a sentence twice, and what to write instead. */
export interface BannedPhrase {
  readonly phrase: RegExp
  readonly instead: string
}

/** Words and phrases that the documents do not use, in lower case. A space also matches the end of a line. */
export const BANNED_PHRASES: readonly BannedPhrase[] = [
  { phrase: /\bwhoever\b/, instead: 'anyone who, or the person: "an operator"' },
  { phrase: /(?:^|[.;:*|] )(?:what|whatever) (?:cannot|comes|came) /, instead: 'the thing: "failed events are kept"' },
  { phrase: /\bof (?:its|their|his|her|our) own\b/, instead: 'its own X, or a separate X' },
  { phrase: /\bso (?:many|often)\b/, instead: 'the number' },
  { phrase: /\b(?:go|goes|going|went) on\b/, instead: 'continue' },
  { phrase: /\b(?:stands?|stood)\b/, instead: 'is, or is listed' },
  { phrase: /\bstand-ins?\b/, instead: 'fake, or replacement' },
  { phrase: /\b(?:tells?|told)\b/, instead: 'says, shows, reports, or distinguishes' },
  { phrase: /\bmend(?:s|ed|ing)?\b/, instead: 'fix' },
  { phrase: /\bput(?:s|ting)? (?:\w+ ){0,3}right\b/, instead: 'fix, or correct' },
  { phrase: /\bheal(?:s|ed|ing)?\b/, instead: 'recover' },
  { phrase: /\bblanks\b/, instead: 'whitespace' },
  { phrase: /\brun book\b/, instead: 'runbook' },
  { phrase: /\bhabits?\b/, instead: 'delivery behaviour' },
  { phrase: /\bunder way\b/, instead: 'in progress' },
  { phrase: /\bin place of\b/, instead: 'instead of' },
  { phrase: /\b(?:two|three|more|every|quick|all|of|\d+) tries\b/, instead: 'attempts' },
  { phrase: /\bmember names?\b/, instead: 'property names' },
  { phrase: /\bby (?:itself|themselves)\b/, instead: 'automatically, or alone' },
  { phrase: /\bfor good\b/, instead: 'permanently' },
  { phrase: /\bfor ever\b|\bwithout end\b/, instead: 'forever' },
  { phrase: /\bthe audit\b(?! log)/, instead: 'the audit log' },
  { phrase: /\bborn\b/, instead: 'created, or claimed on insert' },
  { phrase: /\bbur(?:y|ies|ied)\b/, instead: 'mark as dead' },
  { phrase: /\bjudg(?:e|es|ed|ing)\b/, instead: 'check, or decide' },
  { phrase: /\bdemand(?:s|ed|ing)?\b/, instead: 'require' },
  { phrase: /\bspoil(?:s|ed|ing|t)?\b/, instead: 'tamper with' },
  { phrase: /\b(?:is|are|was|were|be) away\b/, instead: 'is unavailable' },
  { phrase: /\bg(?:ive|ives|iven|iving|ave) (?:\w+ )?back\b/, instead: 'release, or return' },
  { phrase: /\bby turns\b/, instead: 'alternately' },
  { phrase: /\bwork(?:s|ed|ing)? off\b/, instead: 'process' },
  { phrase: /\babout to end\b/, instead: 'that expires soon' },
  { phrase: /\bin (?:the )?clear\b/, instead: 'in plaintext, or unencrypted' },
  { phrase: /\band the like\b/, instead: 'and similar' },
  { phrase: /\bnot less\b|\bno less\b/, instead: 'at least' },
  { phrase: /\bone (?:user|unit|image|file|line|writer|test) an? \w+/, instead: 'one X per Y' },
]
