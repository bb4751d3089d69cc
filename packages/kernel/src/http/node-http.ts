/**
 * Node's own `http`, for its values. An `import` of it reads all that it exports, and some of that loads the whole client
 * behind `fetch`: a tenth of a start, which no listener needs.
 */
export const nodeHttp = process.getBuiltinModule('node:http')
