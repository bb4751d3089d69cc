import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { BANNED_PHRASES } from './support/banned-phrases.ts'
import { readMessages } from './support/read-messages.ts'

const repository = resolve(import.meta.dirname, '..')
const DOCUMENTS = [
  ...[
    '*.md',
    '.changeset/*.md',
    '{contracts,docker,docs}/**/*.md',
    'bench/README.md',
    '{packages,examples}/*/README.md',
  ],
  ...['.github/**/*.{md,yml}', 'docker/**/*.yaml', 'docker/Dockerfile', 'docker/compose/nginx.conf'],
]

/** Quotes of the program: table cells that other tests compare with the code, generated figures, code, links. */
const QUOTED = [
  /(?<=^\| `[\w-]+` \| \d+ \|)[^|]*/gm,
  /(?<=^\| `\w+` \| (?:counter|gauge|histogram) \|[^|]*\|)[^|]*/gm,
  /<!-- figures of .*?<!-- end of the figures -->/gs,
  /^```.*?^```/gms,
  /`[^`]*`/g,
  /\]\([^)]*\)/g,
]

/** The prose of a document, with the same number of lines. */
function proseOf(text: string): string {
  return QUOTED.reduce((prose, quoted) => prose.replaceAll(quoted, (found) => found.replaceAll(/[^\n]+/g, '…')), text)
}

/** Where a text uses a banned phrase: its line, the phrase and what to write instead. */
function findBannedPhrases(text: string): string[] {
  const prose = proseOf(text).toLowerCase()
  return BANNED_PHRASES.flatMap(({ phrase, instead }) => {
    // A phrase may continue on the next line.
    const wrapped = new RegExp(phrase.source.replaceAll(' ', '\\s+'), 'g')
    return Array.from(prose.matchAll(wrapped), ({ 0: found, index }) => {
      const line = prose.slice(0, index).split('\n').length
      return `${line}: "${found.replaceAll(/\s+/g, ' ').trim()}": write ${instead}`
    })
  })
}

describe('the banned phrases', () => {
  it.each([
    'Whoever names the type gets it.',
    '- **Events.** What cannot succeed is kept.',
    'What depends on both is checked last.',
    'What a dead process held is taken over.',
    'Another. What the gateway does if a handler fails is described above.',
    'The gateway goes\n  on with the next event.',
    'It has a port of its own.',
    "It is on the operators' page.",
  ])('are found in "%s"', (text) => {
    expect(findBannedPhrases(text)).toHaveLength(1)
  })

  it('are found with their line, and with what to write instead', () => {
    expect(findBannedPhrases('One.\n\nTwo.\nThe log tells why.')).toEqual([
      '4: "tells": write says, shows, reports, or distinguishes',
    ])
  })

  it.each([
    '| what it does | what is next |',
    'What is needed to verify tokens, and what was known when a call was sent.',
    'What happens if the process dies on this line, or the database is unavailable?',
    'It says what needs to be done.',
  ])('are not in "%s"', (text) => {
    expect(findBannedPhrases(text)).toEqual([])
  })

  it('are found behind a block of code with an odd number of lines', () => {
    expect(findBannedPhrases('```\nx\n```\nIt tells `x`.\n')).toHaveLength(1)
  })

  it('are not looked for in code', () => {
    expect(findBannedPhrases('Run `tell`:\n\n```sh\ntell whoever\n```\n')).toEqual([])
  })
})

describe('the documents', () => {
  const documents = globSync(DOCUMENTS, { cwd: repository, exclude: ['**/node_modules/**'] })

  it('are read', () => {
    expect(documents.length).toBeGreaterThan(30)
  })

  it.each(documents)('%s uses no banned phrase', (document) => {
    expect(findBannedPhrases(readFileSync(join(repository, document), 'utf8'))).toEqual([])
  })
})

/** The comments of a source, on their lines; the code is left out. */
function commentsOf(source: string): string {
  const comment = /^\s*(?:\/\*\*|\{?\/\*|\*|\/\/)(?! @property)(.*)$|\s\/\/ (.*)$/
  return source.replaceAll(/.+/g, (line) => {
    const [, whole, trailing] = comment.exec(line) ?? []
    // A full stop: comments that code separates are not one sentence.
    return whole ?? trailing ?? '.'
  })
}

/** The titles of tests, on their lines. */
function titlesOf(source: string): string {
  const lines = source.split('\n').map((line) => /^\s*(?:it\b|describe\b|\]).*?\((['"`])(.*)\1,/.exec(line)?.[2] ?? '')
  return lines.join('\n')
}

describe('the comments and test titles', () => {
  it.each([
    ['packages/{webhooks,cli}/src/**/*.ts', []],
    ['packages/{gateway,fulfilment}/src/**/*.ts', []],
    ['packages/{kernel,simulator,console,handler}/src/**/*.{ts,tsx}', []],
    ['{test,bench,contracts,examples}/**/*.{ts,mjs}', ['**/node_modules/**']],
    ['{docker,scripts}/**/*.{ts,mjs,cjs}', []],
  ])('of %s use no banned phrase', (sources, exclude) => {
    const files = globSync(sources, { cwd: repository, exclude })
    expect(files.length).toBeGreaterThan(60)
    const found = files.flatMap((file) => {
      const source = readFileSync(join(repository, file), 'utf8')
      return [commentsOf(source), titlesOf(source)].flatMap((text) =>
        findBannedPhrases(text).map((phrase) => `${file}:${phrase}`),
      )
    })
    expect(found).toEqual([])
  })
})

/** A text without the marks that begin and end its comments. A phrase may continue in the comment of the next line. */
function withoutMarks(text: string): string {
  return text.replaceAll(/^[^\S\n]*(?:#|\(\*|\\\*|\/\*\*?|\*|\/\/|--)|\*[/)][^\S\n]*$/gm, '')
}

describe('the other texts', () => {
  it.each(['# Everything goes\n# on.', '(* It goes *)\n(* on.   *)', '\\* It goes on'])('include "%s"', (text) => {
    expect(findBannedPhrases(withoutMarks(text))).toHaveLength(1)
  })

  it.each([
    // The model and its configurations.
    ['docs/model/**/*.{tla,cfg}', 25],
    ['{.ci/run,.npmrc,.editorconfig,.gitattributes,.dockerignore,{docker,scripts}/**/*.{sh,toml}}', 10],
    ['{bench,examples,scripts,test}/**/*.{py,java,sql,js}', 7],
    ['packages/console/{index.html,src/styles.css}', 2],
  ])('of %s use no banned phrase', (sources, least) => {
    const files = globSync(sources, { cwd: repository, exclude: ['**/node_modules/**'] })
    expect(files.length).toBeGreaterThanOrEqual(least)
    const found = files.flatMap((file) => {
      const text = withoutMarks(readFileSync(join(repository, file), 'utf8'))
      return findBannedPhrases(text).map((phrase) => `${file}:${phrase}`)
    })
    expect(found).toEqual([])
  })
})

describe('the messages', () => {
  it.each([
    ["throw new Error('The gateway goes on')", '1: "goes on"'],
    ["const help = 'The first one, ' + 'then two tries'", '1: "two tries"'],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source code
    ['const said = `Events\nof ${whose}\nfor good`', '3: "for good"'],
    ['const shown = <p>Other handlers\ngo on</p>', '2: "go on"'],
  ])('of the source %j use a banned phrase', (source, phrase) => {
    expect(bannedInMessages(source, 'a.tsx')).toEqual([expect.stringContaining(phrase)])
  })

  const otherwise = ["log('of-its-own.anew')", '// It is made anew', 'const anew = 1', "import anew from './anew.ts'"]
  it.each(otherwise)('are not in the source "%s"', (source) => {
    expect(bannedInMessages(source, 'a.ts')).toEqual([])
  })

  it.each([
    ['packages/{webhooks,cli}/src/**/*.ts', []],
    ['packages/{gateway,fulfilment}/src/**/*.ts', []],
    ['packages/{kernel,simulator,console,handler}/src/**/*.{ts,tsx}', []],
    // Mutations quote the names of recorded interactions, which do not change.
    ['{scripts,examples}/**/*.{ts,mjs}', ['**/node_modules/**', 'scripts/contracts/mutations/**']],
  ])('of %s use no banned phrase', (sources, exclude) => {
    const files = globSync(sources, { cwd: repository, exclude: ['**/*.test.ts', ...exclude] })
    expect(files.length).toBeGreaterThan(60)
    const found = files.flatMap((file) =>
      bannedInMessages(readFileSync(join(repository, file), 'utf8'), file).map((phrase) => `${file}:${phrase}`),
    )
    expect(found).toEqual([])
  })
})

/** The banned phrases in the texts of a source, with their lines. */
function bannedInMessages(source: string, file: string): string[] {
  return readMessages(source, file).flatMap(({ line, text }) => findBannedPhrases('\n'.repeat(line - 1) + text))
}
