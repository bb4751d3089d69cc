import { english } from './english/english.ts'

/**
 * Every text of the page. A translation is a folder beside `english/` whose object has the same type:
 * `const german: typeof english = {…}`. It also decides how numbers and times are written, whatever the browser's language is.
 */
export const texts = english
