/** A phrase that makes readers read a sentence twice, and what to write instead. */
export interface BannedPhrase {
  readonly phrase: RegExp
  readonly instead: string
}

// Words between "what" and the verb of its sentence. After one of the others, the verb may be that of another clause.
const WORDS =
  '(?:(?!(?:that|which|who|whose|whether|because|if|when|while|until|as|where|and|or|but|so|unless|before|after|than|how|why|cannot|comes|came) )[^\\s.?!:;,|]+ )'
const VERB = '(?:is|are|was|were|needs?|stays?|happens?|belongs?|continues?|(?:does|do|must) not|cannot)'
const LAST_OF_A_CLAUSE =
  '(?:\\w+ed|for|to|with|from|about|does|has|held|sends|says|finds|reads|writes|needs?|gets|knows)'
const WHAT_AS_SUBJECT = [
  `(?:is|are|was|were|has|have|do|does) ${WORDS}{0,6}?${VERB}`,
  `(?:needs|depends|remains|begins|waits|follows|changes|fails) ${WORDS}{0,6}?${VERB}`,
  `${WORDS}{1,5}?${LAST_OF_A_CLAUSE} ${VERB}`,
  '[^.?!:;|]+ (?:is|are) (?:named|described|explained|listed|defined|documented)',
]

/** Words and phrases that documents, comments and messages do not use, in lower case. A space also matches the end of a line. */
export const BANNED_PHRASES: readonly BannedPhrase[] = [
  { phrase: /\bwhoever\b/, instead: 'anyone who, or the person: "an operator"' },
  {
    phrase: /(?:^|[.;:*|] )(?:what|whatever) (?:cannot|comes|came) (?!back)/,
    instead: 'the thing: "failed events are kept"',
  },
  {
    phrase: new RegExp(`(?:^|[.;:*|] )what (?:${WHAT_AS_SUBJECT.join('|')}) `),
    instead: 'the noun: "a check of several options runs last"',
  },
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
  { phrase: /\banew\b/, instead: 'again' },
  { phrase: /(?<!at )\bhand(?:s|ed|ing)? (?:it |them )?on\b/, instead: 'pass on, send, or dispatch' },
  { phrase: /\bput(?:s|ting)? (?:\w+ )?off\b/, instead: 'defer, or delay' },
  { phrase: /\b(?:unknown|missing|wrong|order of) members?\b|\bmembers? called\b/, instead: 'property' },
  { phrase: /\b(?:these|second|as many) (?:tries|try)\b/, instead: 'attempt' },
  { phrase: /\band the like\b/, instead: 'and similar' },
  { phrase: /\bnot less\b|\bno less\b/, instead: 'at least' },
  { phrase: /\bas ever\b/, instead: 'as usual' },
  { phrase: /\bfor want of\b/, instead: 'because X is missing' },
  { phrase: /\bin vain\b/, instead: 'without success, or failed' },
  { phrase: /\btoday's (?:settings|mapping)\b/, instead: 'the current settings' },
  { phrase: /\b(?:leaves?|left) an entry\b/, instead: 'adds an entry to' },
  { phrase: /\b(?:to|for|from) who\b/, instead: 'to anyone who, or the person: "for operators"' },
  { phrase: /\bof whose\b/, instead: 'whose' },
  { phrase: /\ban own\b/, instead: 'its own, or a separate' },
  { phrase: /\btaken for (?!granted)/, instead: 'mistaken for' },
  { phrase: /\bkept current\b/, instead: 'kept up to date' },
  { phrase: /\b(?:and|or|nor|without) doubles\b/, instead: 'duplicates' },
  { phrase: /\bpoints? at what\b/, instead: 'refers to a property that' },
  { phrase: /\bbreaks? off\b/, instead: 'abort, or is cut off' },
  { phrase: /\bgives? way\b/, instead: 'is dropped, or closed, in favour of' },
  { phrase: /\bpass(?:es)? over (?!the file)/, instead: 'skip, or ignore' },
  { phrase: /\b(?:is|are) content\b/, instead: 'accepts, or passes' },
  { phrase: /\bof which one\b/, instead: 'one of which, or a second sentence' },
  { phrase: /\balso (?:where|when|if)\b/, instead: 'even if' },
  { phrase: /\bbe it\b/, instead: 'even' },
  { phrase: /\boperators' page\b|\boperator page\b/, instead: "the operator's page" },
  { phrase: /\bto the letter\b/, instead: 'exactly' },
  { phrase: /\bone (?:user|unit|image|file|line|writer|test) an? \w+/, instead: 'one X per Y' },
]
