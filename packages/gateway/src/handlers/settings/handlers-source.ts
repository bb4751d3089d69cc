import { createFileSource, type FileSource } from '@oncehook/kernel/settings/file-source'
import { readSetting, textSetting } from '@oncehook/kernel/settings/settings'
import { type Handlers, readHandlers } from './read-handlers.ts'

/** The source of the handlers: read at the start, and again whenever one of its files has changed. */
export interface HandlersSource extends FileSource<Handlers> {
  /** Whether the setting is set, even if it names no handler yet. If not, there is none, now and later. */
  readonly isSet: boolean
}

/** Creates the source of the `HANDLERS` setting: its file, and the files of secrets that it names. */
export function createHandlersSource(env: NodeJS.ProcessEnv): HandlersSource {
  const isSet = [env.HANDLERS, env.HANDLERS_FILE].some((text) => text !== undefined && text !== '')
  const readEnv = (name: string): string | undefined => env[name]
  const source = createFileSource<Handlers>(
    (readFile) =>
      isSet ? readHandlers(readSetting('HANDLERS', textSetting(), env), { readEnv, readFile }) : new Map(),
    { env, names: ['HANDLERS'] },
  )
  return { ...source, isSet }
}
