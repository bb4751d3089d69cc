/**
 * The values of `node:http`. An `import` evaluates all exports, and some of them load the client behind `fetch`. That
 * would take a tenth of the start time, and no listener needs it.
 */
export const nodeHttp = process.getBuiltinModule('node:http')
