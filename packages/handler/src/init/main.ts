import { setUpMongo } from '../mongo/set-up-mongo.ts'
import { setUpPostgres } from '../postgres/set-up-postgres.ts'
import { runInit } from './run-init.ts'

process.exitCode = await runInit(process.argv.slice(2), {
  write: (text) => void process.stdout.write(text),
  warn: (text) => void process.stderr.write(text),
  postgres: setUpPostgres,
  mongo: setUpMongo,
})
