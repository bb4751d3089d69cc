/**
 * A text about settings with the names that the user set: `NAME_FILE`, if the value came from a file. The code that reads a
 * setting knows it as `NAME`.
 */
export function nameAsSet(text: string, env: NodeJS.ProcessEnv): string {
  return text.replaceAll(/\b[A-Z][A-Z0-9_]*\b/g, (name) =>
    isSet(env[`${name}_FILE`]) && !isSet(env[name]) ? `${name}_FILE` : name,
  )
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== ''
}
